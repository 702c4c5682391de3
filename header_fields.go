package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// What request and response headers do alike with their fields.

var (
	strChunked  = []byte("chunked")
	strClose    = []byte("close")
	strSlash    = []byte("/")
	strHTTP11   = []byte("HTTP/1.1")
	strTextType = []byte("text/plain; charset=utf-8")
)

func peekField(f *msg.Fields, id msg.ID, key []byte) []byte {
	if i := f.FindID(id, key); i >= 0 {
		return f.Value(i)
	}
	return nil
}

// peekExact looks for a field that is spelled like key, in the head and then in
// the trailer section, which may be nil.
func peekExact(head, late *msg.Fields, key []byte) []byte {
	for _, f := range [...]*msg.Fields{head, late} {
		if f == nil {
			continue
		}
		for i := f.FindID(msg.Unknown, key); i >= 0; i = f.Next(i) {
			if string(f.RawName(i)) == string(key) {
				return f.Value(i)
			}
		}
	}
	return nil
}

// appendValues appends the values of all fields with the name to dst, without
// the empty ones if filled is set.
func appendValues(dst [][]byte, f *msg.Fields, id msg.ID, key []byte, filled bool) [][]byte {
	for i := f.FindID(id, key); i >= 0; i = f.Next(i) {
		if v := f.Value(i); len(v) > 0 || !filled {
			dst = append(dst, v)
		}
	}
	return dst
}

// fieldName returns the name of field i as it is shown and written.
func fieldName(f *msg.Fields, i int, asIs bool) []byte {
	if asIs {
		return f.RawName(i)
	}
	return f.Name(i)
}

// isClose reports whether the value of a Connection field is just "close".
func isClose(value []byte) bool {
	return bytesconv.EqualFoldString(bytes.Trim(value, " \t"), "close")
}

// isTen reports whether the head was received as HTTP/1.0, where connections
// close unless somebody asks to keep them alive (RFC 9112 section 9.3).
func isTen(f *msg.Fields) bool {
	return f.Parts[msg.Raw].Len > 0 && (string(f.Part(msg.Proto)) == "HTTP/1.0" || string(f.Part(msg.Proto)) == "HTTP/0.9")
}

// expectation is what the Expect fields ask for (RFC 9110 section 10.1.1).
func expectation(f *msg.Fields) msg.Expectation {
	e := msg.ExpectNone
	for i := f.Find(msg.Expect); i >= 0; i = f.Next(i) {
		if !bytesconv.EqualFoldString(f.Value(i), "100-continue") {
			return msg.ExpectOther
		}
		e = msg.ExpectContinue
	}
	return e
}

// setProtocol sets the version of a start line:
//
//	HTTP-version = HTTP-name "/" DIGIT "." DIGIT     RFC 9112 section 2.3
//
// Whatever is no version of HTTP is the caller's business, but for control
// characters, which become spaces. An empty version means HTTP/1.1.
func setProtocol(f *msg.Fields, minor *uint8, v []byte) {
	f.SetPart(msg.Proto, v)
	bytesconv.NeutralizeText(f.Part(msg.Proto))
	*minor = 1
	if string(v) == "HTTP/1.0" {
		*minor = 0
	}
}

// appendField appends the line of field i.
func appendField(dst []byte, f *msg.Fields, i int, asIs bool) []byte {
	dst = append(dst, fieldName(f, i, asIs)...)
	dst = append(dst, ": "...)
	dst = append(dst, f.Value(i)...)
	return append(dst, "\r\n"...)
}

// appendFields appends the fields in order, but those that are never sent and
// those whose bit 1<<id is set in skip.
func appendFields(dst []byte, f *msg.Fields, skip uint64, asIs bool) []byte {
	if !asIs {
		return f.AppendWire(dst, skip)
	}
	for i := range f.Recs {
		if f.Recs[i].Flags&msg.Unsent == 0 && !hidden(f, i, skip) {
			dst = appendField(dst, f, i, true)
		}
	}
	return dst
}

// hidden reports whether field i is deleted or in skip. Unknown names have the
// bit 0, which is in no skip.
func hidden(f *msg.Fields, i int, skip uint64) bool {
	r := &f.Recs[i]
	return r.Flags&msg.Dead != 0 || skip&(1<<r.ID) != 0
}

// visitFields calls yield for the fields that appendFields would append. It
// returns false if yield did.
func visitFields(f *msg.Fields, skip uint64, asIs bool, yield func(k, v []byte) bool) bool {
	for i := 0; i < len(f.Recs); i++ {
		if !hidden(f, i, skip) && !yield(fieldName(f, i, asIs), f.Value(i)) {
			return false
		}
	}
	return true
}
