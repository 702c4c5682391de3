package gale

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/msg"
)

// askCompressed asks for a compressed response, unless the request wants one
// coding or a part of one. It reports whether it did.
func askCompressed(h *RequestHeader) bool {
	if h.IsHead() || len(h.Peek(HeaderAcceptEncoding)) > 0 || len(h.Peek(HeaderRange)) > 0 {
		return false
	}
	h.Set(HeaderAcceptEncoding, "gzip, br, zstd")
	return true
}

// uncompress decodes the body of resp, of which a buffered one may be limit bytes
// long then, 0 for no limit. Codings that aren't known stay as they are.
func uncompress(resp *Response, limit int) error {
	h := &resp.Header
	c, ok := compress.Parse(h.ContentEncoding())
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

// uncompressStream is a streamed body that is decoded as it is read. It may be
// closed at any time, by anybody: closing the body below wakes a Read.
type uncompressStream struct {
	body   io.Reader
	coding compress.Coding
	closed atomic.Bool

	mu    sync.Mutex // held while reading; guards what follows
	dec   *compress.Reader
	empty bool  // the body ended before its first byte
	some  bool  // there was a byte
	err   error // what Read returns from now on
}

// encoded is the body of an uncompressStream as its decoder reads it.
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

// Read reads on in the decoded body.
func (s *uncompressStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.closed.Load() {
		s.end(io.ErrClosedPipe)
	}
	if s.err == nil && s.dec == nil {
		// This reads, which is why it waited until now.
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

// finish reads what is left of the body below, of which a decoder may leave the
// end: only then can its connection be used again. It must be next to nothing.
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

// end makes err the end of the body and gives the decoder back.
func (s *uncompressStream) end(err error) {
	switch {
	case s.empty: // nothing is nothing in any coding
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

// CloseWithError closes the body and tells the one below why.
func (s *uncompressStream) CloseWithError(reason error) error {
	s.closed.Store(true)
	err := closeBodyStream(s.body, reason)
	if s.mu.TryLock() { // else there is a Read, which ends now
		if s.err == nil {
			s.end(io.ErrClosedPipe)
		}
		s.mu.Unlock()
	}
	return err
}
