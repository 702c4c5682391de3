package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// Read reads a request head from r, up to and including its empty line. The head
// must fit into r's buffer; otherwise the error is an [ErrSmallBuffer]. Settings
// such as DisableNormalizing are kept.
//
// The error is io.EOF if r ends before the first byte, and an [ErrNothingRead] if r
// fails before it. If the head breaks the rules of RFC 9112, the error quotes it.
// After an error the header is empty.
//
// Read accepts more than a server does: bare LFs instead of CRLFs, and folded
// fields, which it joins (RFC 9112 sections 2.2 and 5.2). Old programs wrote both.
// If the last two line ends of a head are not both CRLF, Read waits until CRLF CRLF
// comes somewhere after it. Several Host fields are an error unless
// DisableSpecialHeader was called: then they are kept, and Host returns the first.
func (h *RequestHeader) Read(r *bufio.Reader) error {
	used(h.s.Loan)
	h.s.Reset()
	lim := bufferLimits(r)
	lim.Hosts = h.s.NoSpecial
	err := readHead(r, "request", h.hideContents, func(b []byte) (int, error) {
		return h1.ParseRequest(b, &h.s.RequestHead, lim)
	})
	if err != nil {
		h.s.Reset()
	}
	h.s.Trailers.Open = h.s.ContentLength == msg.LenChunked
	return err
}

// Read reads a response head from r, up to and including its empty line. The head
// must fit into r's buffer; otherwise the error is an [ErrSmallBuffer]. Settings
// such as DisableNormalizing are kept.
//
// The error is io.EOF if r ends or fails before the first byte, except that a
// timeout is an [ErrNothingRead]. If the head breaks the rules of RFC 9112, the
// error quotes it. After an error the header is empty.
//
// Bare LFs and folded fields are accepted, as in [RequestHeader.Read].
func (h *ResponseHeader) Read(r *bufio.Reader) error {
	used(h.s.Loan)
	return h.read(r, bufferLimits(r))
}

func (h *ResponseHeader) read(r *bufio.Reader, lim *h1.Limits) error {
	h.s.Reset()
	err := readHead(r, "response", h.hideContents, func(b []byte) (int, error) {
		return h1.ParseResponse(b, &h.s.ResponseHead, lim)
	})
	if err != nil {
		h.s.Reset()
	}
	h.s.Trailers.Open = h.s.ContentLength == msg.LenChunked
	return err
}

// ReadTrailer reads a trailer section with its empty line from r and adds its
// fields. Peek finds such a field if the header has no field of that name. PeekAll
// returns it after the header's own values, and TrailerHeader contains it. Setters
// change the header, not the trailer section. Fields that the program has set, or
// has deleted since Read, are left out. A field that must not be in a trailer
// section (RFC 9110 section 6.5.1) is an error.
//
// The error is io.EOF if r ends within the section.
func (h *RequestHeader) ReadTrailer(r *bufio.Reader) error {
	used(h.s.Loan)
	return readTrailer(r, h.hideContents, h.takeTrailers)
}

// ReadTrailer reads a trailer section with its empty line from r and adds its
// fields. Peek finds such a field if the header has no field of that name. PeekAll
// returns it after the header's own values, and TrailerHeader contains it. Setters
// change the header, not the trailer section. Fields that the program has set, or
// has deleted since Read, are left out. A field that must not be in a trailer
// section (RFC 9110 section 6.5.1) is an error.
//
// The error is io.EOF if r ends within the section.
func (h *ResponseHeader) ReadTrailer(r *bufio.Reader) error {
	used(h.s.Loan)
	return readTrailer(r, h.hideContents, h.takeTrailers)
}

func readTrailer(r *bufio.Reader, hide bool, take func(*msg.Fields)) error {
	var f msg.Fields
	err := readHead(r, "response", hide, func(b []byte) (int, error) {
		n, err := h1.ParseTrailers(b, &f, bufferLimits(r))
		if err == h1.ErrFieldValue || err == h1.ErrLineEnd {
			err = fmt.Errorf("invalid trailer value: %w", err)
		}
		return n, err
	})
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.EOF
		}
		return err
	}
	take(&f)
	return nil
}

// bufferLimits returns limits in which only the size of r's buffer limits the head.
// The reading is lenient: a head that a program reads by itself may come from older
// software than servers and clients accept.
func bufferLimits(r *bufio.Reader) *h1.Limits {
	const fields = 8 << 10
	return &h1.Limits{Dialect: h1.Lenient, Head: r.Size() + 1, Target: r.Size() + 1, Fields: fields}
}

// readHead calls parse with the bytes that r has buffered, and reads more until
// they are enough.
func readHead(r *bufio.Reader, kind string, hide bool, parse func([]byte) (int, error)) error {
	for want := 1; ; want = r.Buffered() + 1 {
		b, readErr := r.Peek(want)
		if readErr != nil && len(b) < want {
			return readError(r, b, kind, hide, readErr)
		}
		b, _ = r.Peek(r.Buffered())
		n, err := parse(b)
		if err == nil {
			_, err = r.Discard(n)
			return err
		}
		if err != h1.ErrPartial && !onlyLineEnds(b) {
			return headError(kind, b, hide, knownError(err, b))
		}
	}
}

// onlyLineEnds reports whether b, which the parser refused, consists of line ends
// only. If nothing follows them, there was no further message.
func onlyLineEnds(b []byte) bool { return len(bytes.Trim(b, "\r\n")) == 0 }

// readError is the error of a reader that ends or fails with b unparsed.
func readError(r *bufio.Reader, b []byte, kind string, hide bool, err error) error {
	switch {
	case err == io.EOF && onlyLineEnds(b):
		return io.EOF
	case len(b) == 0 && kind == "response" && !engine.IsTimeout(err):
		return io.EOF
	case len(b) == 0:
		return ErrNothingRead{err}
	case err == bufio.ErrBufferFull:
		return &ErrSmallBuffer{headError(kind, b, hide, ErrSmallReadBuffer)}
	}
	return headError(kind, b, hide, err)
}

// headError describes err and quotes the head, unless it must be hidden.
func headError(kind string, b []byte, hide bool, err error) error {
	if hide {
		return errorf("error when reading %s headers: %w: buffer size=%d", kind, err, len(b))
	}
	return errorf("error when reading %s headers: %w: buffer size=%d, contents: %s", kind, err, len(b), quoteEnds(b))
}

// quoteEnds quotes b, or its beginning and end if it is long.
func quoteEnds(b []byte) string {
	const end = 200
	if len(b) <= 2*end {
		return strconv.Quote(string(b))
	}
	return strconv.Quote(string(b[:end])) + "..." + strconv.Quote(string(b[len(b)-end:]))
}

// knownError wraps the parser's error with the exported error that callers test
// for. b is what was parsed.
func knownError(err error, b []byte) error {
	known := knownErrors[err]
	switch err {
	case h1.ErrMethod:
		known = ErrUnsupportedRequestMethod
		if b[0] == ' ' {
			known = ErrMissingRequestMethod
		}
	case h1.ErrTarget:
		if _, rest, _ := bytes.Cut(b, []byte{' '}); bytes.HasPrefix(rest, []byte{' '}) {
			known = ErrEmptyRequestURI
		}
	case h1.ErrVersionSyntax:
		if line, _, _ := bytes.Cut(b, []byte{'\r'}); bytes.Count(line, []byte{' '}) > 2 && line[0] != 'H' {
			known = ErrExtraWhitespaceInRequestLine
		} else if bytes.IndexByte(line, ' ') < 0 {
			known = ErrResponseFirstLineMissingSpace
		}
	}
	if known == nil {
		return err
	}
	return fmt.Errorf("%w: %w", known, err)
}

var knownErrors = map[error]error{
	h1.ErrManyLengths:       ErrDuplicateContentLength,
	h1.ErrContentLength:     ErrNonNumericChars,
	h1.ErrCodingUnsupported: ErrUnsupportedTransferEncoding,
	h1.ErrStatusLine:        ErrUnexpectedStatusCodeChar,
	h1.ErrTrailer:           ErrBadTrailer,
}
