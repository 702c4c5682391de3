package gale

import (
	"slices"
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
	const own = (responseLeading | responseFramed | responseTrailing) &^ (1 << msg.ContentType)
	if n := h.s.ContentLength; seen&own == 0 && (n > 0 || n == 0 && length) && !h.noDefaultDate &&
		h.isPlainOK() && h.s.Conn == 0 && h.s.Minor != 0 {
		if lines, ok := f.Lines(); ok {
			if u := currentUsual(server); u != nil {
				return h.appendPlain(dst, u, lines)
			}
		}
	}
	return h.appendAny(dst, server, length)
}

// appendAny is appendText for every response.
func (h *ResponseHeader) appendAny(dst, server []byte, length bool) []byte {
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
// length, with fields that stand in the arena as they go out, of which only
// Content-Type has a place of its own. u is the usual text. It makes no more than four copies, which
// is a third of the time of the general way (BenchmarkServerPipelined).
func (h *ResponseHeader) appendPlain(dst, u, lines []byte) []byte {
	need := len(u) + len(lines) + len("18446744073709551615\r\n\r\n")
	if cap(dst)-len(dst) < need {
		dst = slices.Grow(dst, need)
	}
	n := h.s.ContentLength
	from, to := uint32(0), uint32(0) // Content-Type
	if i := h.s.Find(msg.ContentType); i >= 0 {
		from, to = h.s.Line(i)
	}
	if to == 0 && n > 0 && !h.noDefaultContentType {
		dst = append(dst, u...)
	} else {
		dst = append(dst, u[:len(u)-len(plainType)]...)
		dst = append(dst, lines[from:to]...)
		dst = append(dst, "Content-Length: "...)
	}
	dst = bytesconv.AppendInt(dst, int(n))
	if len(lines) > int(to-from) {
		dst = append(dst, "\r\n"...)
		dst = append(dst, lines[:from]...)
		dst = append(dst, lines[to:]...)
		return append(dst, "\r\n"...)
	}
	return append(dst, "\r\n\r\n"...)
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

const (
	plainOK   = "HTTP/1.1 200 OK\r\n"
	plainType = "Content-Type: text/plain; charset=utf-8\r\nContent-Length: "
)

// usual holds what most responses of a server have in common for a second: the
// text between plainOK and plainType is Server and Date.
type usual struct {
	mark   clock.Mark
	server string
	text   []byte
}

// usuals are those of the servers of the process, which seldom differ in name,
// each in the place that the length of its name says.
var usuals [8]atomic.Pointer[usual]

// currentUsual returns the usual text of a server of that name, which must not be
// changed. It is nil if there is none: while nobody holds the clock, and for a
// server whose place another has taken.
func currentUsual(server []byte) []byte {
	u := usuals[len(server)%len(usuals)].Load()
	if mark := clock.Current(); u == nil || u.mark != mark {
		u = makeUsual(server, mark)
	}
	if u == nil || u.server != string(server) {
		return nil
	}
	return u.text
}

// makeUsual makes the text for a new second.
func makeUsual(server []byte, mark clock.Mark) *usual {
	if mark == (clock.Mark{}) {
		return nil
	}
	text := append([]byte(plainOK), appendServer(nil, server)...)
	text = append(text, "Date: "...)
	text = clock.AppendDate(text)
	text = append(text, "\r\n"+plainType...)
	if mark != clock.Current() {
		return nil // the second has ended, or the clock is not held any more
	}
	u := &usual{mark, string(server), text}
	usuals[len(server)%len(usuals)].Store(u)
	return u
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
		if u := currentUsual(server); u != nil {
			dst = append(dst, u[len(plainOK):len(u)-len(plainType)]...)
		} else {
			dst = h.appendOwnOrigin(dst, server)
		}
	} else {
		dst = h.appendOwnOrigin(dst, server)
	}
	if f.Has(msg.ContentType) {
		dst = appendAll(dst, f, msg.ContentType)
	} else if hasBody && h.s.ContentLength != 0 && !h.noDefaultContentType {
		dst = append(dst, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	if seen&(1<<msg.ContentEncoding) != 0 {
		dst = appendAll(dst, f, msg.ContentEncoding)
	}
	return dst
}

// appendOwnOrigin appends Server and Date, whatever they are.
func (h *ResponseHeader) appendOwnOrigin(dst, server []byte) []byte {
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
