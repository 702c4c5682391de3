package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Functions for fields that both request and response headers have.

var (
	strChunked  = []byte("chunked")
	strClose    = []byte("close")
	strSlash    = []byte("/")
	strHTTP11   = []byte("HTTP/1.1")
	strTextType = []byte("text/plain; charset=utf-8")
	commaSpace  = []byte(", ")
)

// trailerBit is head.TrailerBit.
const trailerBit = head.TrailerBit

// isClose reports whether the value of a Connection field is just "close".
func isClose(value []byte) bool {
	return bytesconv.EqualFoldString(bytes.Trim(value, " \t"), "close")
}

// putConnection returns the options of the Connection field that was put, in their
// written form: bytes that aren't text are spaces there.
func putConnection(f *msg.Fields) msg.Conn {
	if i := f.Find(msg.Connection); i >= 0 {
		return head.ParseConnection(f.Value(i))
	}
	return 0
}

// setProtocol sets the version of a start line:
//
//	HTTP-version = HTTP-name "/" DIGIT "." DIGIT     RFC 9112 section 2.3
//
// Control characters in v become spaces. Otherwise the caller must make sure that v
// is a version of HTTP. An empty version means HTTP/1.1.
func setProtocol(f *msg.Fields, minor *uint8, v []byte) {
	f.SetPart(msg.Proto, v)
	bytesconv.NeutralizeText(f.Part(msg.Proto))
	*minor = 1
	if string(v) == "HTTP/1.0" {
		*minor = 0
	}
}
