package head

import (
	"github.com/galehttp/gale/internal/msg"
)

// Response is the head of a response to send, or of a received one with the changes
// since. The zero value is a 200 without fields.
//
// The parts of the status line are in the msg head; a status of 0 means 200. A field is
// one of these:
//
//   - a record of the msg head, in order
//   - Server, Content-Type: a slot (see Slot), or records; else Sender.Server, and
//     DefaultResponseType if ImpliesType is true
//   - Date: records; else Sender.Date, unless Implied has NoDate
//   - Content-Length or Transfer-Encoding: determined by ContentLength and HasBody; see
//     Length and Chunked. In a 304 they are records
//   - Connection: records, or "close" if they don't say so and Closes is true
//   - Trailer: Trailers.Announced, if Seen has TrailerBit
type Response struct {
	// ResponseHead is the status line and the records. Every setter updates what it says
	// about the body and the connection.
	msg.ResponseHead

	Trailers Trailers // the trailer section

	// Implied says which fields the response has in addition to its records.
	Implied Implied
	// Spelling is the spelling of names when they are written.
	Spelling msg.Spelling
	// LengthSet says that a length of 0 was set and isn't just the zero value.
	LengthSet bool

	// See slots.go.
	server, contentType []byte
	slotChanges         uint64
}

// Sender has the defaults that the sending server gives to the head of a response.
type Sender struct {
	// Server is the value of Server if the response doesn't set one; empty means no
	// field. No setter has checked it.
	Server string
	// Date is the value of Date if the response doesn't set one. The array never changes.
	// The pointer stays the same within one second.
	Date *[DateLen]byte
	// ZeroLength says that a length of 0 is written even if it wasn't set.
	ZeroLength bool
}

// DateLen is the length of a date in bytes (RFC 9110 section 5.6.7).
const DateLen = len("Mon, 02 Jan 2006 15:04:05 GMT")

// DefaultResponseType is the Content-Type of a response with a body that has none.
const DefaultResponseType = "text/plain; charset=utf-8"

// Reset makes r empty. Settings (NoDate, NoDefaultType and Spelling) and memory stay. The
// values of slots stay too, but are only compared from then on.
func (r *Response) Reset() {
	r.Verify()
	r.ResponseHead.Reset()
	r.Trailers.Reset()
	r.LengthSet = false
	r.Implied &^= ServerSlot | TypeSlot
}

// ResetAll is Reset, settings included.
func (r *Response) ResetAll() {
	r.Verify()
	r.ResponseHead.Reset()
	r.Trailers.Reset()
	r.LengthSet, r.Implied, r.Spelling = false, 0, msg.Normalized
}

// CopyTo makes dst a copy of r, settings included.
func (r *Response) CopyTo(dst *Response) {
	r.Verify()
	r.ResponseHead.CopyTo(&dst.ResponseHead)
	r.Trailers.CopyTo(&dst.Trailers)
	dst.Implied, dst.Spelling, dst.LengthSet = r.Implied, r.Spelling, r.LengthSet
	dst.server = append(dst.server[:0], r.server...)
	dst.contentType = append(dst.contentType[:0], r.contentType...)
	dst.slotChanges++
}

// HasBody reports whether a response with this status can have a body.
func (r *Response) HasBody() bool { return StatusHasBody(r.Status) }

// Length returns the length of the body. ok says whether it is written: if it is above 0,
// or if it is 0 and zeroToo is set.
func (r *Response) Length(zeroToo bool) (n int64, ok bool) {
	n = r.ContentLength
	return n, r.HasBody() && (n > 0 || n == 0 && zeroToo)
}

// Chunked reports whether the length of the body isn't known before its end; in HTTP/1.1
// that is "Transfer-Encoding: chunked".
func (r *Response) Chunked() bool { return r.ContentLength == msg.LenChunked && r.HasBody() }

// ImpliesType reports whether the Content-Type is DefaultResponseType, because there is a
// body and no Content-Type field.
func (r *Response) ImpliesType() bool {
	return r.Implied&(TypeSlot|NoDefaultType) == 0 && r.ContentLength != 0 && r.ContentLength != msg.LenUnsaid && r.HasBody() && !r.Has(msg.ContentType)
}

// Closes reports whether the connection ends after this response, because it says
// "Connection: close", its body ends with the connection, or it was received as HTTP/1.0
// and doesn't say keep-alive (RFC 9112 section 9.3).
func (r *Response) Closes() bool {
	return r.Conn&msg.ConnClose != 0 ||
		r.ContentLength == msg.LenUnknown && r.HasBody() ||
		r.Minor == 0 && r.Conn&msg.ConnKeepAlive == 0 && IsHTTP10(&r.Fields)
}

// MayClose is a quick test: if it returns false, Closes does too.
func (r *Response) MayClose() bool {
	return r.Conn != 0 || r.ContentLength == msg.LenUnknown || r.Minor == 0
}

// Connection returns the value of Connection to write, nil for none. It has the options
// of all Connection fields, which may be joined in *buf. If the connection must be closed
// and no field says "close", the value is "close" instead.
func (r *Response) Connection(buf *[]byte) []byte {
	closes := r.Closes()
	if i := r.Find(msg.Connection); i >= 0 {
		v := r.JoinValues(buf, i, ", ")
		if !closes || ParseConnection(v)&msg.ConnClose != 0 {
			return v
		}
	}
	if closes {
		return textClose
	}
	return nil
}
