package gale

import (
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
	dst = h.appendStatusLine(dst)
	hasBody := statusHasBody(h.s.Status)
	if seen&responseLeading == 0 {
		dst = h.appendUsual(dst, server, hasBody)
	} else {
		dst = h.appendLeading(dst, server, hasBody)
	}
	if hasBody {
		switch n := h.s.ContentLength; {
		case n > 0 || n == 0 && length:
			dst = appendLength(dst, n)
		case n == msg.LenChunked:
			dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
		}
	} else if h.s.Status == StatusNotModified && seen&responseFramed != 0 {
		// What was received may be passed on: RFC 9110 section 15.4.5 and RFC
		// 9112 section 6.1 allow both fields without a body.
		dst = appendAll(dst, f, msg.ContentLength)
		dst = appendAll(dst, f, msg.TransferEncoding)
	}
	if len(f.Recs) > 0 {
		const skip = responseLeading | responseFramed | responseTrailing
		if seen&responseTrailing == 0 && !h.asIs {
			dst = f.AppendWire(dst, skip)
		} else {
			dst = appendFields(dst, f, skip, h.asIs)
			dst = h.appendTrailing(dst)
		}
	}
	if v := h.connection(); v != nil {
		dst = appendLine(dst, msg.Connection, v)
	}
	return append(dst, "\r\n"...)
}

func (h *ResponseHeader) appendStatusLine(dst []byte) []byte {
	from := len(dst)
	dst = h1.AppendStatusLine(dst, h.StatusCode(), h.s.Part(msg.Reason))
	p := h.s.Part(msg.Proto)
	if len(p) == 0 || string(p) == "HTTP/1.1" {
		return dst
	}
	line := string(dst[from+len("HTTP/1.1"):])
	return append(append(dst[:from], p...), line...)
}

// appendUsual is appendLeading if there are no fields for it.
func (h *ResponseHeader) appendUsual(dst, server []byte, hasBody bool) []byte {
	dst = appendServer(dst, server)
	if !h.noDefaultDate {
		dst = append(dst, "Date: "...)
		dst = clock.AppendDate(dst)
		dst = append(dst, "\r\n"...)
	}
	if hasBody && h.s.ContentLength != 0 && !h.noDefaultContentType {
		dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\n"...)
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

func (h *ResponseHeader) appendLeading(dst, server []byte, hasBody bool) []byte {
	f := &h.s.Fields
	if f.Has(msg.Server) {
		dst = appendAll(dst, f, msg.Server)
	} else {
		dst = appendServer(dst, server)
	}
	if f.Has(msg.Date) {
		dst = appendAll(dst, f, msg.Date)
	} else if !h.noDefaultDate {
		dst = append(dst, "Date: "...)
		dst = clock.AppendDate(dst)
		dst = append(dst, "\r\n"...)
	}
	if f.Has(msg.ContentType) {
		dst = appendAll(dst, f, msg.ContentType)
	} else if hasBody && h.s.ContentLength != 0 {
		dst = appendLine(dst, msg.ContentType, h.ContentType())
	}
	return appendAll(dst, f, msg.ContentEncoding)
}

func (h *ResponseHeader) appendTrailing(dst []byte) []byte {
	f := &h.s.Fields
	dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
	return appendAll(dst, f, msg.SetCookie)
}
