package gale

import (
	"bufio"
	"io"
	"math/bits"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// Writing a head can't be made to write more than one field for one: names and
// values enter through msg.Fields.Put, which takes tokens alone and leaves no
// control characters, or through the parser, which refuses the same; so do the
// protocol, the method and the reason. The target and the cookies are cleaned
// while they are written.

// requestLeading are the fields that have their place before the others of a request.
const requestLeading uint64 = 1<<msg.UserAgent | 1<<msg.Host

// appendHead appends the request line, the fields and the empty line: first
// User-Agent, Host, Content-Type and the length, then the others in order, then
// Trailer, Cookie and Connection.
func (h *RequestHeader) appendHead(dst []byte) []byte {
	f := &h.s.Fields
	dst = h.appendRequestLine(dst)
	if h.noSpecial {
		dst = appendFields(dst, f, 1<<msg.Trailer, h.asIs)
		if h.cookieState == cookiesOwned {
			dst = appendLine(dst, msg.Cookie, h.cookieText())
		}
		dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
		return append(dst, "\r\n"...)
	}
	seen := f.Seen()
	dst = appendAll(dst, f, msg.UserAgent)
	dst = appendAll(dst, f, msg.Host)
	if seen&(1<<msg.ContentType) != 0 && f.Has(msg.ContentType) {
		dst = appendAll(dst, f, msg.ContentType)
	} else if h.s.ContentLength > 0 && !h.noDefaultContentType {
		dst = append(dst, "Content-Type: application/octet-stream\r\n"...)
	}
	switch n := h.s.ContentLength; {
	case n > 0 || n == 0 && (h.lengthSet || f.Has(msg.ContentLength)):
		dst = appendLength(dst, n)
	case n == msg.LenChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if seen&^requestLeading != 0 || len(f.Recs) > bits.OnesCount64(seen) { // else there are no others
		dst = appendFields(dst, f, requestOwn&^(1<<msg.Cookie), h.asIs)
	}
	if seen&trailerBit != 0 {
		dst = appendLine(dst, msg.Trailer, declaredTrailers(f, h.asIs))
	}
	if h.cookieState == cookiesOwned {
		dst = appendLine(dst, msg.Cookie, h.cookieText())
	}
	if h.s.Conn != 0 || h.s.Minor == 0 || seen&(1<<msg.Connection) != 0 {
		dst = appendLine(dst, msg.Connection, h.connection())
	}
	return append(dst, '\r', '\n')
}

func (h *RequestHeader) appendRequestLine(dst []byte) []byte {
	method, target := h.s.Part(msg.Method), h.s.Part(msg.Target)
	if len(method) == 0 {
		dst = append(dst, "GET "...)
	} else {
		dst = append(append(dst, method...), ' ')
	}
	switch {
	case len(target) == 0:
		dst = append(dst, '/')
	case bytesconv.IsTarget(target):
		dst = append(dst, target...)
	default:
		dst = appendTarget(dst, target)
	}
	if proto := h.s.Part(msg.Proto); len(proto) > 0 {
		dst = append(append(dst, ' '), proto...)
		return append(dst, '\r', '\n')
	}
	return append(dst, " HTTP/1.1\r\n"...)
}

// appendLine appends a field, nothing if it has no value.
func appendLine(dst []byte, id msg.ID, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, id.String()...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// appendAll appends all fields with a known name.
func appendAll(dst []byte, f *msg.Fields, id msg.ID) []byte {
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

// appendTarget appends a request-target without its fragment, and escapes what
// can't stand in a request line: spaces and control characters (RFC 9112 section
// 3.2).
func appendTarget(dst, target []byte) []byte {
	from := len(dst)
	for i, c := range target {
		if c > ' ' && c != 0x7f && c != '#' {
			continue
		}
		dst = append(dst, target[:i]...)
		for _, c := range target[i:] {
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
	return append(dst, target...)
}

// appendHead appends the status line, the fields and the empty line: first
// Server (its own, else server unless that is empty), Date, Content-Type,
// Content-Encoding and the length, then the others in order, then Trailer,
// Set-Cookie and Connection. The length is written even if it was not set.
func (h *ResponseHeader) appendHead(dst []byte, server string) []byte {
	if o := &h.opening; o.isWhole(h, server) {
		return append(dst, o.text...)
	}
	return h.appendText(dst, server, true)
}

// AppendBytes appends the header as it is sent to dst, with the empty line, and
// returns the extended dst.
func (h *RequestHeader) AppendBytes(dst []byte) []byte { return h.appendHead(dst) }

// Header returns the header as it is sent, with the empty line, but without the
// fields that are declared as trailer fields. The next call uses the memory
// again.
func (h *RequestHeader) Header() []byte {
	h.text.head = h.appendHead(h.text.head[:0])
	return h.text.head
}

// String returns the header as it is sent, with the empty line.
func (h *RequestHeader) String() string { return string(h.appendHead(nil)) }

// Write writes the header as it is sent, with the empty line, to w. It doesn't
// flush w.
func (h *RequestHeader) Write(w *bufio.Writer) error {
	_, err := w.Write(h.Header())
	return err
}

// WriteTo writes the header as it is sent, with the empty line, to w. It
// implements [io.WriterTo].
func (h *RequestHeader) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.Header())
	return int64(n), err
}

// AppendBytes appends the header as it is sent to dst, with the empty line, and
// returns the extended dst.
func (h *ResponseHeader) AppendBytes(dst []byte) []byte {
	if h.lengthSet && h.opening.isWhole(h, h.defaultServer) {
		return append(dst, h.opening.text...)
	}
	length := h.lengthSet || h.s.ContentLength != 0 || h.s.Has(msg.ContentLength)
	return h.appendText(dst, h.defaultServer, length)
}

// Header returns the header as it is sent, with the empty line, but without the
// fields that are declared as trailer fields. The next call uses the memory
// again.
func (h *ResponseHeader) Header() []byte {
	h.text.head = h.AppendBytes(h.text.head[:0])
	return h.text.head
}

// String returns the header as it is sent, with the empty line.
func (h *ResponseHeader) String() string { return string(h.AppendBytes(nil)) }

// Write writes the header as it is sent, with the empty line, to w. It doesn't
// flush w.
func (h *ResponseHeader) Write(w *bufio.Writer) error {
	_, err := w.Write(h.Header())
	return err
}

// WriteTo writes the header as it is sent, with the empty line, to w. It
// implements [io.WriterTo].
func (h *ResponseHeader) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.Header())
	return int64(n), err
}
