package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// A field can't be used to write more than one field line (header injection). Names and
// values come from msg.Fields.Put, which accepts only tokens as names and replaces
// control characters in values, or from the parser, which refuses them. The same is true
// of the protocol, the method and the reason. The target, the cookies and the name of the
// server are cleaned when they are written.

// AppendField appends the line of a field, nothing if it has no value.
func AppendField(dst []byte, name string, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// AppendTrailers appends a trailer section with its empty line (RFC 9112 section
// 7.1.2).
func AppendTrailers(dst []byte, t *head.Trailers, spelling msg.Spelling) []byte {
	if received, set := t.Fields(); set != nil {
		dst = received.AppendLines(dst, 0, spelling)
		dst = set.AppendLines(dst, 0, spelling)
	}
	return append(dst, "\r\n"...)
}

// appendRecords appends the lines of all fields with a known name.
func appendRecords(dst []byte, f *msg.Fields, id msg.ID) []byte {
	if f.Seen()&(1<<id) == 0 {
		return dst
	}
	return f.AppendKnown(dst, id)
}

func appendLength(dst []byte, n int64) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = bytesconv.AppendInt(dst, n)
	return append(dst, "\r\n"...)
}
