package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/msg"
)

// Request is the head of a request to send, or of a received one with the changes since.
// The zero value is a GET request for "/" without fields.
//
// The parts of the request line are in the msg head; see Method and Target for the
// meaning of empty parts. A field is one of these:
//
//   - a record of the msg head, in order
//   - Content-Length or Transfer-Encoding: determined by ContentLength; see HasLength. In
//     a head with NoSpecial they are records
//   - Cookie: text of Cookies if CookieState is CookiesOwned, else records
//   - Connection: records, or "close" if there is none and Closes is true
//   - Trailer: Trailers.Announced, if Seen has TrailerBit
//   - Content-Type: a record, or DefaultRequestType if ImpliesType is true
type Request struct {
	// RequestHead is the request line and the records. Every setter updates what it says
	// about the body, the connection and the expectation.
	msg.RequestHead

	// Cookies are the name-value pairs of the Cookie fields. CookieState says whether
	// they are set, and whether they or the fields are used.
	Cookies     kv.List
	CookieState CookieState

	Trailers Trailers // the trailer section

	RequestSettings

	// LengthSet says that a length of 0 was set and isn't just the zero value.
	LengthSet bool
}

// RequestSettings say how a request's head is written. Reset keeps them.
type RequestSettings struct {
	// Spelling is the spelling of names.
	Spelling msg.Spelling
	// NoSpecial says that fields are written in the order in which they were set, and
	// that no others are added, except those that the body needs.
	NoSpecial bool
	// NoDefaultType says that there is no default for Content-Type.
	NoDefaultType bool
	// NoDefaultAgent says that there is no default for User-Agent.
	NoDefaultAgent bool
}

// DefaultRequestType is the Content-Type of a request with a body that has none.
const DefaultRequestType = "application/octet-stream"

// Reset makes r empty. Settings and memory stay.
func (r *Request) Reset() {
	r.Verify()
	r.RequestHead.Reset()
	r.Trailers.Reset()
	r.LengthSet = false
	if r.CookieState != CookiesUnread {
		r.Cookies.Reset()
		r.CookieState = CookiesUnread
	}
}

// CopyTo makes dst a copy of r, settings included.
func (r *Request) CopyTo(dst *Request) {
	r.Verify()
	r.RequestHead.CopyTo(&dst.RequestHead)
	r.Trailers.CopyTo(&dst.Trailers)
	r.Cookies.CopyTo(&dst.Cookies)
	dst.CookieState = r.CookieState
	dst.RequestSettings, dst.LengthSet = r.RequestSettings, r.LengthSet
}

// HasLength reports whether a length of 0 was set or received. A length is written
// if ContentLength > 0, or if ContentLength == 0 and HasLength is true.
func (r *Request) HasLength() bool { return r.LengthSet || r.Find(msg.ContentLength) >= 0 }

// ImpliesType reports whether the Content-Type is DefaultRequestType, because there is a
// body and no Content-Type field.
func (r *Request) ImpliesType() bool {
	return r.ContentLength > 0 && !r.NoDefaultType && !r.NoSpecial && !r.Has(msg.ContentType)
}

// Closes reports whether the connection ends after this request, because it says
// "Connection: close", or because it was received as HTTP/1.0 and doesn't ask for
// keep-alive (RFC 9112 section 9.3).
func (r *Request) Closes() bool {
	return r.Conn&msg.ConnClose != 0 ||
		r.Minor == 0 && r.Conn&msg.ConnKeepAlive == 0 && IsHTTP10(&r.Fields)
}

// Connection returns the value of Connection to write, nil for none. It has the options
// of all Connection fields, which may be joined in *buf.
func (r *Request) Connection(buf *[]byte) []byte {
	if i := r.Find(msg.Connection); i >= 0 {
		return r.JoinValues(buf, i, ", ")
	}
	if r.Closes() {
		return textClose
	}
	return nil
}

// AppendTarget appends the target to send, "/" if there is none. It leaves out the
// fragment, and escapes spaces and control characters, because they can't be in a request
// line (RFC 9112 section 3.2).
func (r *Request) AppendTarget(dst []byte) []byte {
	target := r.Part(msg.Target)
	switch {
	case len(target) == 0:
		r.Use()
		return append(dst, '/')
	case bytesconv.IsTarget(target):
		return append(dst, target...)
	}
	return appendEscaped(dst, target)
}

func appendEscaped(dst, target []byte) []byte {
	from := len(dst)
	for _, c := range target {
		if c == '#' {
			break
		}
		if c <= ' ' || c == 0x7f {
			const hex = "0123456789ABCDEF"
			dst = append(dst, '%', hex[c>>4], hex[c&15])
			continue
		}
		dst = append(dst, c)
	}
	if len(dst) == from {
		dst = append(dst, '/')
	}
	return dst
}
