package gale

import (
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
	if len(server) > 0 {
		dst = append(dst, "Server: "...)
		dst = append(dst, server...)
		dst = append(dst, "\r\n"...)
	}
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

func (h *ResponseHeader) appendLeading(dst, server []byte, hasBody bool) []byte {
	f := &h.s.Fields
	if own := f.Peek(msg.Server); len(own) > 0 {
		server = own
	}
	dst = appendLine(dst, msg.Server, server)
	if date := f.Peek(msg.Date); len(date) > 0 {
		dst = appendLine(dst, msg.Date, date)
	} else if !h.noDefaultDate {
		dst = append(dst, "Date: "...)
		dst = clock.AppendDate(dst)
		dst = append(dst, "\r\n"...)
	}
	ct := f.Peek(msg.ContentType)
	if len(ct) == 0 && hasBody && h.s.ContentLength != 0 {
		ct = h.ContentType()
	}
	dst = appendLine(dst, msg.ContentType, ct)
	return appendLine(dst, msg.ContentEncoding, f.Peek(msg.ContentEncoding))
}

func (h *ResponseHeader) appendTrailing(dst []byte) []byte {
	f := &h.s.Fields
	dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
	for i := f.Find(msg.SetCookie); i >= 0; i = f.Next(i) {
		dst = append(dst, "Set-Cookie: "...)
		dst = append(dst, f.Value(i)...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}
