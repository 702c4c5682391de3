package gale

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/msg"
)

// askCompressed asks for a compressed response, unless the request has an
// Accept-Encoding or a Range. It reports whether it asked.
func askCompressed(h *RequestHeader) bool {
	if h.IsHead() || len(h.Peek(HeaderAcceptEncoding)) > 0 || len(h.Peek(HeaderRange)) > 0 {
		return false
	}
	h.Set(HeaderAcceptEncoding, "gzip, br, zstd")
	return true
}

// uncompress decodes the body of resp. A buffered body may be limit bytes long
// after decoding; 0 means no limit. Bodies in unknown codings stay as they are.
func uncompress(resp *Response, limit int) error {
	h := &resp.Header
	c, ok := contentCoding(&h.s.Fields)
	if !ok || c == compress.Identity {
		return nil
	}
	length := msg.LenUnknown
	if resp.IsBodyStream() {
		resp.bodyStream = newUncompressStream(resp.bodyStream, c)
	} else if body := resp.bodyBytes(); len(body) > 0 {
		plain, err := decodeAs(body, c, limit)
		if err != nil {
			resp.ResetBody()
			return err
		}
		resp.SwapBody(plain)
		length = len(plain)
	} else {
		return nil
	}
	h.Del(HeaderContentEncoding)
	h.SetContentLength(length)
	return nil
}

// uncompressStream is a streamed body that is decoded while it is read. Any
// goroutine may close it at any time: closing the encoded body makes a blocked Read
// return.
type uncompressStream struct {
	body   io.Reader
	coding compress.Coding
	closed atomic.Bool

	mu    sync.Mutex // held while reading; guards the fields below
	dec   *compress.Reader
	empty bool  // the body ended before its first byte
	some  bool  // there was a byte
	err   error // what Read returns from now on
}

// encoded is the encoded body of an uncompressStream, as its decoder reads it.
type encoded struct{ s *uncompressStream }

func (e encoded) Read(p []byte) (int, error) {
	n, err := e.s.body.Read(p)
	e.s.some = e.s.some || n > 0
	e.s.empty = err == io.EOF && !e.s.some
	return n, err
}

func newUncompressStream(body io.Reader, c compress.Coding) *uncompressStream {
	return &uncompressStream{body: body, coding: c}
}

// Read reads from the decoded body.
func (s *uncompressStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.closed.Load() {
		s.end(io.ErrClosedPipe)
	}
	if s.err == nil && s.dec == nil {
		// NewReader reads from the body, so it isn't called before the first Read.
		dec, err := compress.NewReader(encoded{s}, s.coding)
		if err != nil {
			s.end(err)
		}
		s.dec = dec
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.dec.Read(p)
	if err == io.EOF {
		err = s.finish()
	}
	if err != nil {
		s.end(err)
	}
	return n, s.err
}

// finish reads the rest of the encoded body, because a decoder may stop before its
// end and the connection can be used again only after it. The rest must be very
// short.
func (s *uncompressStream) finish() error {
	const most = 1 << 10
	var b [64]byte
	for left := most; left > 0; {
		n, err := s.body.Read(b[:])
		if err != nil {
			return err
		}
		left -= max(n, 1)
	}
	return errTrailingGarbage
}

var errTrailingGarbage = errors.New("gale: the compressed body is followed by other bytes")

// end makes err the error of all further reads and gives the decoder back.
func (s *uncompressStream) end(err error) {
	switch {
	case s.empty: // an empty body is empty in any coding
		err = io.EOF
	case s.closed.Load() && err != io.EOF:
		err = io.ErrClosedPipe
	}
	s.err = err
	if s.dec != nil {
		_ = s.dec.Close()
		s.dec = nil
	}
}

// Close closes the body.
func (s *uncompressStream) Close() error { return s.CloseWithError(nil) }

// CloseWithError closes the body and passes the reason to the encoded one.
func (s *uncompressStream) CloseWithError(reason error) error {
	s.closed.Store(true)
	err := closeBodyStream(s.body, reason)
	if s.mu.TryLock() { // if a Read holds it, that Read ends now
		if s.err == nil {
			s.end(io.ErrClosedPipe)
		}
		s.mu.Unlock()
	}
	return err
}
