package gale

import (
	"slices"

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
func (h *ResponseHeader) appendText(dst []byte, server string, length bool) []byte {
	const own = responseLeading | responseFramed | responseTrailing
	if n := h.s.ContentLength; h.s.Seen()&own == 0 && (n > 0 || n == 0 && length) &&
		h.isPlainOK() && h.s.Conn == 0 && h.s.Minor != 0 {
		if lines, ok := h.s.Lines(); ok {
			return h.appendPlain(dst, server, lines)
		}
	}
	return h.appendAny(dst, server, length)
}

// appendAny is appendText for every response.
func (h *ResponseHeader) appendAny(dst []byte, server string, length bool) []byte {
	f := &h.s.Fields
	hasBody := statusHasBody(h.s.Status)
	dst = h.appendStatusLine(dst)
	dst = h.appendLeading(dst, server, hasBody)
	dst = h.appendFraming(dst, hasBody, length)
	if len(f.Recs) > 0 {
		const skip = responseLeading | responseFramed | responseTrailing
		if h.asIs {
			dst = appendFields(dst, f, skip, true)
		} else {
			dst = f.AppendWire(dst, skip)
		}
	}
	if hasBody && h.s.ContentLength == msg.LenChunked {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if len(f.Recs) > 0 {
		if f.Seen()&responseTrailing != 0 {
			dst = h.appendTrailing(dst)
		}
	}
	if h.mayNameConnection() {
		dst = appendLine(dst, msg.Connection, h.connection())
	}
	return append(dst, "\r\n"...)
}

// appendPlain is appendText for what nearly all responses are: a 200 with a
// length, with fields that stand in the arena as they go out. It makes two copies
// (BenchmarkHeadAppend).
func (h *ResponseHeader) appendPlain(dst []byte, server string, lines []byte) []byte {
	o := h.opening.current(h, server)
	if len(lines) == 0 {
		return append(dst, o...)
	}
	if need := len(o) + len(lines); cap(dst)-len(dst) < need {
		dst = slices.Grow(dst, need)
	}
	dst = append(dst, o[:len(o)-len("\r\n")]...)
	dst = append(dst, lines...)
	return append(dst, '\r', '\n')
}

// mayNameConnection is a quick test for whether connection may return a value.
func (h *ResponseHeader) mayNameConnection() bool {
	return h.mayClose() || h.s.Seen()&(1<<msg.Connection) != 0
}

// isPlainOK reports whether the status line is the usual one of a 200.
func (h *ResponseHeader) isPlainOK() bool {
	return (h.s.Status == 0 || h.s.Status == StatusOK) && h.s.Parts[msg.Reason].Len|h.s.Parts[msg.Proto].Len == 0
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

// appendServer appends the Server field by which a server calls itself, which no
// setter has checked.
func appendServer(dst []byte, server string) []byte {
	if len(server) == 0 {
		return dst
	}
	dst = append(dst, "Server: "...)
	dst = append(dst, server...)
	bytesconv.NeutralizeText(dst[len(dst)-len(server):])
	return append(dst, "\r\n"...)
}

// appendLeading appends Server, Date, Content-Type and Content-Encoding.
func (h *ResponseHeader) appendLeading(dst []byte, server string, hasBody bool) []byte {
	f := &h.s.Fields
	switch {
	case h.look&ownServer != 0:
		dst = appendLine(dst, msg.Server, h.server)
	case f.Has(msg.Server):
		dst = appendAll(dst, f, msg.Server)
	default:
		dst = appendServer(dst, server)
	}
	switch {
	case f.Has(msg.Date):
		dst = appendAll(dst, f, msg.Date)
	case h.look&noDate == 0:
		dst = appendDate(dst, clock.Current())
	}
	switch {
	case h.look&ownType != 0:
		dst = appendLine(dst, msg.ContentType, h.contentType)
	case f.Has(msg.ContentType):
		dst = appendAll(dst, f, msg.ContentType)
	case hasBody && h.s.ContentLength != 0 && h.look&noType == 0:
		dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	return appendAll(dst, f, msg.ContentEncoding)
}

func appendDate(dst []byte, second clock.Mark) []byte {
	dst = append(dst, "Date: "...)
	dst = second.AppendDate(dst)
	return append(dst, "\r\n"...)
}

// appendFraming appends the length of the body, where it has one.
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
	}
	return dst
}

func (h *ResponseHeader) appendTrailing(dst []byte) []byte {
	f := &h.s.Fields
	dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
	return appendAll(dst, f, msg.SetCookie)
}
