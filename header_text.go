package gale

import (
	"bufio"
	"io"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// Headers as text. Package h1 writes them.

// appendHead appends the head as it is sent, with the empty line at its end.
func (h *RequestHeader) appendHead(dst []byte) []byte { return h1.AppendRequestHead(dst, &h.s) }

// appendHead appends the head as the server called server sends it, with the empty
// line. It writes the length even if it was not set.
func (h *ResponseHeader) appendHead(dst []byte, server string) []byte {
	date := clock.Date()
	if whole := h.opening.Whole(&h.s, server, date); whole != nil {
		return append(dst, whole...)
	}
	return h1.AppendResponseHead(dst, &h.s, &h.opening, head.Sender{Server: server, Date: date, ZeroLength: true})
}

// AppendBytes appends the header as it is sent to dst, with the empty line, and
// returns the extended dst. The result belongs to the caller.
func (h *RequestHeader) AppendBytes(dst []byte) []byte { return h.appendHead(dst) }

// Header returns the header as it is sent, with the empty line, but without the
// fields that are declared as trailer fields. The bytes are borrowed: they are
// valid until h changes or the handler returns. The next call overwrites them.
func (h *RequestHeader) Header() []byte {
	h.text.head = lifetime.Kept(h.s.Loan, h.text.head, h.appendHead(h.text.head[:0]))
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
// returns the extended dst. The result belongs to the caller.
func (h *ResponseHeader) AppendBytes(dst []byte) []byte {
	used(h.s.Loan)
	date := clock.Date()
	if h.s.LengthSet {
		if whole := h.opening.Whole(&h.s, h.defaultServer, date); whole != nil {
			return append(dst, whole...)
		}
	}
	return h1.AppendResponseHead(dst, &h.s, &h.opening, head.Sender{
		Server:     h.defaultServer,
		Date:       date,
		ZeroLength: h.s.LengthSet || h.s.Has(msg.ContentLength),
	})
}

// Header returns the header as it is sent, with the empty line, but without the
// fields that are declared as trailer fields. The bytes are borrowed: they are
// valid until h changes or the handler returns. The next call overwrites them.
func (h *ResponseHeader) Header() []byte {
	h.text.head = lifetime.Kept(h.s.Loan, h.text.head, h.AppendBytes(h.text.head[:0]))
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

// AppendNormalizedHeaderKey appends the field name key in its customary spelling to
// dst and returns the extended slice: letters at the beginning and after hyphens in
// upper case, all others in lower case. The result belongs to the caller.
//
//	coNTENT-TYPe -> Content-Type
//	HOST         -> Host
//	www-x        -> Www-X
//
// A key that isn't a token (RFC 9110 section 5.6.2) keeps its spelling, except that
// CR, LF and NUL become spaces.
func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	return bytesconv.AppendCanonicalName(dst, bytesconv.S2B(key))
}

// AppendNormalizedHeaderKeyBytes is [AppendNormalizedHeaderKey] for bytes. The
// result belongs to the caller.
func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	return bytesconv.AppendCanonicalName(dst, key)
}
