package gale

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// chunkReader reads a chunked body from a connection.
type chunkReader struct {
	dec      h1.Body
	trailers msg.Fields
}

var chunkReaders = pool.Pool{New: func() any { return new(chunkReader) }}

func acquireChunkReader(lim *h1.Limits) *chunkReader {
	d := chunkReaders.Get().(*chunkReader)
	d.dec.Init(msg.LenChunked, &d.trailers, lim)
	return d
}

func (d *chunkReader) release() {
	d.trailers.Reset()
	d.dec.Reset()
	chunkReaders.Put(d)
}

// next returns the next piece of the body, which is valid until the next read from
// the connection. It may be empty. done says that it was the last.
func (d *chunkReader) next(cc *clientConn) (data []byte, done bool, err error) {
	for {
		if b := cc.conn.Unread(); len(b) > 0 {
			data, n, done, err := d.dec.Next(b)
			if err != nil {
				return nil, false, ErrBrokenChunk{err}
			}
			cc.conn.Consume(n)
			if n > 0 || done {
				return data, done, nil
			}
		}
		if err := cc.conn.Fill(); err != nil {
			return nil, false, noEOF(err)
		}
	}
}

// deliver adds the fields of the trailer section to h.
func (d *chunkReader) deliver(h *ResponseHeader) {
	h.takeTrailers(&d.trailers)
}

// responseStream is the body of a response that is read while it arrives. It owns
// the connection until the body ends or is closed, and then gives it back.
//
// One goroutine reads. Any goroutine may call Close, at any time and any number of
// times: if a Read is running, Close breaks the connection off. The one that
// finishes last cleans up.
type responseStream struct {
	c       *HostClient
	unwatch func() bool
	call    call

	closed  atomic.Bool // Close was called: the caller doesn't want the rest
	useless atomic.Bool // the connection must not be kept

	busy sync.Mutex  // held while the connection is used; guards the fields below
	cc   *clientConn // nil once it was given back; it may still send the request
	left int64       // of a body of known length; msg.LenUnknown for the others
	dec  *chunkReader
	data []byte // decoded, in the buffer of cc
	last bool   // only data is left
	keep bool   // the connection can be used again
	err  error  // what Read returns from now on

	mu   sync.Mutex      // may be taken while busy is held; guards the fields below
	conn *clientConn     // cc, while it may be broken off
	sink *ResponseHeader // where trailer fields go, nil once closed
}

// newResponseStream returns the body of a response of which only the head was
// read.
func (c *HostClient) newResponseStream(k *call, cc *clientConn, resp *Response, length int64, keep bool, unwatch func() bool) *responseStream {
	s := &responseStream{c: c, unwatch: unwatch, call: *k, cc: cc, conn: cc, left: length, keep: keep, sink: &resp.Header}
	switch length {
	case 0:
		s.end(io.EOF)
	case msg.LenChunked:
		s.left = msg.LenUnknown
		lim := c.responseLimits()
		s.dec = acquireChunkReader(&lim)
		resp.Header.s.Trailers.Open = true
	}
	return s
}

// Read reads from the body. If the body is cut off, the error is
// io.ErrUnexpectedEOF; after Close it is io.ErrClosedPipe. The time limits and the
// context of the call apply.
func (s *responseStream) Read(p []byte) (int, error) {
	s.busy.Lock()
	returned := false
	defer func() {
		if !returned { // a method of the connection panicked, or ended the goroutine
			s.keep = false
			s.end(io.ErrUnexpectedEOF)
			s.busy.Unlock()
		}
	}()
	n, err := s.readLocked(p)
	returned = true
	s.busy.Unlock()
	s.cleanUp()
	return n, err
}

func (s *responseStream) readLocked(p []byte) (int, error) {
	if s.err == nil && s.closed.Load() {
		s.finish()
	}
	if s.err != nil {
		return 0, s.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.read(p)
	if err != nil {
		s.end(s.reason(err))
		err = s.err
	}
	return n, err
}

// reason returns the error for the reader when err ended the body.
func (s *responseStream) reason(err error) error {
	switch {
	case err == io.EOF:
		return err
	case s.call.ctx != nil && s.call.ctx.Err() != nil:
		return s.call.ctx.Err()
	case s.closed.Load():
		return io.ErrClosedPipe
	}
	return err
}

func (s *responseStream) read(p []byte) (int, error) {
	if s.dec != nil {
		return s.readChunked(p)
	}
	if s.left >= 0 && int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n := copy(p, s.cc.conn.Unread())
	s.cc.conn.Consume(n)
	if n == 0 {
		var err error
		if s.left < 0 {
			return s.cc.conn.ReadSome(p)
		}
		if n, err = s.cc.conn.ReadBodyPart(p, s.left); err != nil {
			return n, noEOF(err)
		}
	}
	if s.left < 0 {
		return n, nil
	}
	if s.left -= int64(n); s.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (s *responseStream) readChunked(p []byte) (int, error) {
	for len(s.data) == 0 && !s.last {
		var err error
		if s.data, s.last, err = s.dec.next(s.cc); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.data)
	if s.data = s.data[n:]; len(s.data) > 0 || !s.last {
		return n, nil
	}
	s.deliver()
	return n, io.EOF
}

// deliver passes the trailer fields to the response, unless the stream was closed.
func (s *responseStream) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		s.dec.deliver(s.sink)
	}
}

// end ends the body with err and gives the connection back.
func (s *responseStream) end(err error) {
	s.err = err
	cc := s.cc
	if cc == nil {
		return
	}
	s.mu.Lock()
	s.conn = nil // from here on it must not be broken off
	s.mu.Unlock()
	fine := false
	defer func() {
		if !fine { // user code panicked, or ended the goroutine
			s.cc, s.data, s.unwatch = nil, nil, nil
			s.c.discard(cc)
		}
	}()
	cause := err
	if err == io.EOF {
		cause = nil
	}
	whole, failure := cc.endSending(&s.call, s.left < 0 && s.dec == nil, cause)
	if cause == nil && failure != nil {
		s.err = failure
	}
	keep := s.keep && whole && s.err == io.EOF && len(cc.conn.Unread()) == 0 && !cc.conn.Closed()
	if s.unwatch != nil && !s.unwatch() {
		keep = false
	}
	fine = true
	s.cc, s.data, s.unwatch = nil, nil, nil
	if s.dec != nil {
		s.dec.release()
		s.dec = nil
	}
	if keep {
		cc.served++
		s.c.release(cc)
		return
	}
	s.c.discard(cc)
	s.c.touch()
}

// finish ends a body that was closed. If the rest of it has already arrived, the
// rest is dropped and the connection is kept.
func (s *responseStream) finish() {
	if s.err != nil {
		return
	}
	if s.keep && !s.useless.Load() && s.dropRest() {
		s.end(io.EOF)
	}
	s.end(io.ErrClosedPipe)
}

// dropRest drops what is left of the body if all of it has come, and reports
// whether it has.
func (s *responseStream) dropRest() bool {
	b := s.cc.conn.Unread()
	if s.dec == nil {
		if s.left < 0 || int64(len(b)) < s.left {
			return false
		}
		s.cc.conn.Consume(int(s.left))
		return true
	}
	for !s.last {
		_, n, done, err := s.dec.dec.Next(s.cc.conn.Unread())
		if err != nil || n == 0 && !done {
			return false
		}
		s.cc.conn.Consume(n)
		s.last = done
	}
	return true
}

// Close ends the body. The connection is kept if the rest of the body had
// arrived already.
func (s *responseStream) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.mu.Lock()
	s.sink = nil
	s.mu.Unlock()
	if s.cleanUp() {
		return nil
	}
	s.mu.Lock()
	if s.conn != nil {
		s.conn.conn.Cancel()
	}
	s.mu.Unlock()
	s.cleanUp()
	return nil
}

// CloseWithError is Close. If err isn't nil, the connection is never kept.
func (s *responseStream) CloseWithError(err error) error {
	if err != nil {
		s.useless.Store(true)
	}
	return s.Close()
}

// cleanUp ends a body that was closed, unless a reader is active; the reader then calls
// cleanUp when it is done. It reports whether there is nothing left to do.
func (s *responseStream) cleanUp() bool {
	if !s.closed.Load() {
		return false
	}
	if !s.busy.TryLock() {
		return false
	}
	defer s.busy.Unlock() // even if user code ends the goroutine
	s.finish()
	return true
}

// drainShort reads a short body to its end, so that the connection can be kept,
// and closes the stream.
func (s *responseStream) drainShort() {
	short := int64(64 << 10)
	if limit := int64(s.c.MaxResponseBodySize); limit > 0 {
		short = min(short, limit)
	}
	if s.left >= 0 && s.left <= short {
		_, _ = io.Copy(io.Discard, s)
	}
	_ = s.Close()
}
