package gale

import (
	"bytes"
	"sync/atomic"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// responseLeading are the fields that have their place before the others.
const responseLeading uint64 = 1<<msg.Server | 1<<msg.Date | 1<<msg.ContentType | 1<<msg.ContentEncoding

// responseTrailing are those that have it behind the others.
const responseTrailing uint64 = 1<<msg.Trailer | 1<<msg.SetCookie | 1<<msg.Connection

// responseFramed are those that don't come from records.
const responseFramed uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding

// appendText writes a response's head; length says whether a length of 0 is
// written.
func (h *ResponseHeader) appendText(dst, server []byte, length bool) []byte {
	f := &h.s.Fields
	seen := f.Seen()
	hasBody := statusHasBody(h.s.Status)
	dst = h.appendStatusLine(dst)
	n := h.s.ContentLength
	switch {
	case seen&(responseLeading|responseFramed) == 0 && n > 0 && hasBody && !h.noDefaultDate && !h.noDefaultContentType:
		dst = appendUsual(dst, server, true)
		dst = bytesconv.AppendInt(dst, int(n))
		dst = append(dst, "\r\n"...)
	default:
		dst = h.appendLeading(dst, server, hasBody)
		dst = h.appendFraming(dst, hasBody, length)
	}
	if len(f.Recs) > 0 {
		const skip = responseLeading | responseFramed | responseTrailing
		if h.asIs {
			dst = appendFields(dst, f, skip, true)
		} else {
			dst = f.AppendWire(dst, skip)
		}
		if seen&responseTrailing != 0 {
			dst = h.appendTrailing(dst)
		}
	}
	if h.mayNameConnection() {
		dst = appendLine(dst, msg.Connection, h.connection())
	}
	return append(dst, "\r\n"...)
}

// mayNameConnection is a quick test for whether connection may return a value.
func (h *ResponseHeader) mayNameConnection() bool {
	return h.s.Conn != 0 || h.s.ContentLength == msg.LenUnknown || h.s.Minor == 0 ||
		h.s.Seen()&(1<<msg.Connection) != 0
}

func (h *ResponseHeader) appendStatusLine(dst []byte) []byte {
	if h.s.Status|int(h.s.Parts[msg.Reason].Len|h.s.Parts[msg.Proto].Len) == 0 {
		return append(dst, "HTTP/1.1 200 OK\r\n"...)
	}
	from := len(dst)
	dst = h1.AppendStatusLine(dst, h.StatusCode(), h.s.Part(msg.Reason))
	p := h.s.Part(msg.Proto)
	if len(p) == 0 || string(p) == "HTTP/1.1" {
		return dst
	}
	line := string(dst[from+len("HTTP/1.1"):])
	return append(append(dst[:from], p...), line...)
}

// usual holds what most responses of a server have in common for a second.
type usual struct {
	mark   clock.Mark
	server string
	// text is Server and Date, from typed on the usual Content-Type and the name
	// of the field that follows.
	text  []byte
	typed int
}

var lastUsual atomic.Pointer[usual]

// appendUsual appends Server and Date and, if typed is set, the usual
// Content-Type and "Content-Length: ".
func appendUsual(dst, server []byte, typed bool) []byte {
	u := lastUsual.Load()
	if u == nil || u.mark != clock.Current() || u.server != string(server) {
		return appendUsualSlow(dst, server, typed, u)
	}
	if typed {
		return append(dst, u.text...)
	}
	return append(dst, u.text[:u.typed]...)
}

// appendUsualSlow is appendUsual without old, the text that is there. It makes
// the text for the new second. The first server to come in a second makes it;
// servers with another name do without.
func appendUsualSlow(dst, server []byte, typed bool, old *usual) []byte {
	from := len(dst)
	mark := clock.Current()
	dst = appendServer(dst, server)
	dst = append(dst, "Date: "...)
	dst = clock.AppendDate(dst)
	dst = append(dst, "\r\n"...)
	end := len(dst)
	dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: "...)
	fresh := old == nil || old.mark != mark
	if fresh && mark != (clock.Mark{}) && mark == clock.Current() {
		lastUsual.Store(&usual{mark, string(server), bytes.Clone(dst[from:]), end - from})
	}
	if !typed {
		return dst[:end]
	}
	return dst
}

// appendServer appends the Server field by which a server calls itself, which no
// setter has checked.
func appendServer(dst, server []byte) []byte {
	if len(server) == 0 {
		return dst
	}
	dst = append(dst, "Server: "...)
	dst = append(dst, server...)
	bytesconv.NeutralizeText(dst[len(dst)-len(server):])
	return append(dst, "\r\n"...)
}

// appendLeading appends Server, Date, Content-Type and Content-Encoding.
func (h *ResponseHeader) appendLeading(dst, server []byte, hasBody bool) []byte {
	f := &h.s.Fields
	seen := f.Seen()
	if seen&(1<<msg.Server|1<<msg.Date) == 0 && !h.noDefaultDate {
		dst = appendUsual(dst, server, false)
	} else {
		dst = h.appendOrigin(dst, server)
	}
	if i := f.Find(msg.ContentType); i >= 0 {
		dst = appendAll(dst, f, msg.ContentType)
	} else if hasBody && h.s.ContentLength != 0 && !h.noDefaultContentType {
		dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	if seen&(1<<msg.ContentEncoding) != 0 {
		dst = appendAll(dst, f, msg.ContentEncoding)
	}
	return dst
}

// appendOrigin appends Server and Date.
func (h *ResponseHeader) appendOrigin(dst, server []byte) []byte {
	f := &h.s.Fields
	if f.Has(msg.Server) {
		dst = appendAll(dst, f, msg.Server)
	} else {
		dst = appendServer(dst, server)
	}
	switch {
	case f.Has(msg.Date):
		dst = appendAll(dst, f, msg.Date)
	case !h.noDefaultDate:
		dst = append(dst, "Date: "...)
		dst = clock.AppendDate(dst)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// appendFraming appends the length of the body or its coding.
func (h *ResponseHeader) appendFraming(dst []byte, hasBody, length bool) []byte {
	n := h.s.ContentLength
	switch {
	case !hasBody:
		// What was received with a 304 may be passed on: RFC 9110 section 15.4.5
		// and RFC 9112 section 6.1 allow both fields without a body.
		if h.s.Status == StatusNotModified {
			dst = appendAll(dst, &h.s.Fields, msg.ContentLength)
			dst = appendAll(dst, &h.s.Fields, msg.TransferEncoding)
		}
	case n > 0 || n == 0 && length:
		dst = appendLength(dst, n)
	case n == msg.LenChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return dst
}

func (h *ResponseHeader) appendTrailing(dst []byte) []byte {
	f := &h.s.Fields
	dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
	return appendAll(dst, f, msg.SetCookie)
}
