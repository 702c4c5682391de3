package gale

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/pool"
)

// errH2End is inErr of a request that has ended in order.
var errH2End = errors.New("gale: the request has ended")

// take takes a piece of the body, under mu. b is not kept.
func (s *h2Stream) take(b []byte, end bool, now clock.Tick) {
	s.lastIn = now
	switch {
	case s.inErr != nil && s.inErr != errH2End, s.st.WasReset(): // nobody reads it
		s.consumed(len(b))
	case s.step == h2Collect:
		s.consumed(len(b))
		if s.collectMore(b); s.refusal != nil {
			s.step = h2Handle
			s.ss.push(s)
		}
	case len(b) > 0:
		if s.in == nil {
			s.in = pool.Get(max(len(b), 4<<10))
			s.in.B = s.in.B[:0]
		}
		s.keep(b)
		s.readers.Broadcast()
	}
	if end {
		s.end()
	}
	s.time()
}

// keep appends to what waits to be read, under mu. What was read makes room: a reader that
// is slower than the client never reads to the end of in.
func (s *h2Stream) keep(b []byte) {
	if s.at > 0 && s.at >= len(s.in.B)-s.at && cap(s.in.B)-len(s.in.B) < len(b) {
		s.in.B = s.in.B[:copy(s.in.B, s.in.B[s.at:])]
		s.at = 0
	}
	s.in.Write(b)
}

// consumed lets the client send n bytes more, under mu.
func (s *h2Stream) consumed(n int) { s.ss.proto.Consumed(s.st, n) }

// takeTrailers takes the trailer section, which ends the body, under mu.
func (s *h2Stream) takeTrailers(now clock.Tick) {
	if s.ss.proto.DecodeTrailers(&s.trailers) != nil {
		s.fail(&StreamResetError{Code: uint32(h2.ProtocolError)}, true)
		return
	}
	s.lastIn = now
	s.end()
	s.time()
}

// end is the end of the request, under mu.
func (s *h2Stream) end() {
	if s.inErr == nil {
		s.inErr = errH2End
	}
	s.readers.Broadcast()
	if s.step == h2Collect {
		s.step = h2Handle
		s.ss.push(s)
	}
}

// collect begins to collect a body that is not streamed, under mu. It reports whether there
// is no more to wait for; else the session goes on, and a runner when all has come.
func (s *h2Stream) collect() bool {
	ss := s.ss
	if s.in != nil {
		n := len(s.in.B) - s.at
		s.collectMore(s.in.B[s.at:])
		s.dropIn()
		s.consumed(n)
		ss.out = ss.proto.AppendControl(ss.out)
	}
	switch {
	case s.sendErr != nil:
		s.step = h2Finish
		return true
	case s.refusal == nil && s.inErr != nil && s.inErr != errH2End:
		s.refusal = s.inErr // it took too long, or the client ended its side
	}
	if s.refusal != nil || s.inErr != nil {
		s.step = h2Handle
		return true
	}
	s.step, s.runs = h2Collect, false
	ss.proto.ExpectAll(s.st)
	ss.out = ss.proto.AppendControl(ss.out)
	s.time()
	return false // the runner wakes the session, which looks at the time
}

// collectMore appends a piece of the body, under mu.
func (s *h2Stream) collectMore(b []byte) {
	if len(b) == 0 || s.refusal != nil {
		return
	}
	buf := s.ctx.Request.bodyBuf()
	if len(b) > s.limits.maxBody-len(buf.B) {
		s.refusal = ErrBodyTooLarge
		return
	}
	if left := s.ctx.Request.Header.s.ContentLength - int64(len(buf.B)); cap(buf.B)-len(buf.B) < len(b) && left > int64(len(b)) {
		buf.Grow(int(min(left, int64(max(4*len(b), 3*len(buf.B))))))
	}
	buf.Write(b)
}

// giveTrailers gives the trailer section to the context. It is called under mu, by the goroutine
// that has the request, or that reads its body.
func (s *h2Stream) giveTrailers() {
	if len(s.trailers.Recs) == 0 {
		return
	}
	s.trailers.CopyTo(&s.ctx.trailers)
	s.trailers.Reset()
	s.ctx.takeTrailers(s.ss.s.MergeTrailers)
}

// giveAllTrailers is giveTrailers without mu.
func (s *h2Stream) giveAllTrailers() {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.giveTrailers()
}

// unread reports whether some of the body has arrived and was not read, under mu.
func (s *h2Stream) unread() bool { return s.in != nil && s.at < len(s.in.B) }

// dropIn forgets what has arrived, under mu.
func (s *h2Stream) dropIn() {
	if s.in != nil {
		pool.Put(s.in)
		s.in, s.at = nil, 0
	}
}

// openBody lets the handler read the body as a stream, under mu.
func (s *h2Stream) openBody(length int64) {
	ctx := s.ctx
	s.streamed = true
	ctx.Request.removeForm()
	ctx.Request.setStream(&s.body)
	ctx.Request.Header.setLength(length)
	if h := &ctx.Request.Header.s; h.Trailers.Open {
		h.Trailers.Expect(&h.Fields)
	}
}

// h2Body is the body of a request as a stream. Its methods may be called from any
// goroutine, one at a time.
type h2Body struct {
	s *h2Stream
	n int64 // bytes read
}

// Read waits until more of the body has arrived.
func (b *h2Body) Read(p []byte) (int, error) {
	s := b.s
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for {
		switch {
		case len(p) == 0:
			return 0, nil
		case s.st == nil:
			return 0, errStreamClosed
		case s.limit > 0 && b.n >= s.limit && s.unread():
			return 0, ErrBodyTooLarge
		case s.unread():
			return b.take(p), nil
		case s.inErr == errH2End:
			s.giveTrailers()
			return 0, io.EOF
		case s.inErr != nil:
			return 0, s.inErr
		}
		s.awaitBody()
	}
}

// take takes what has arrived, as far as p has room and the limit allows, under mu.
func (b *h2Body) take(p []byte) int {
	s := b.s
	have := s.in.B[s.at:]
	if s.limit > 0 {
		have = have[:min(int64(len(have)), s.limit-b.n)]
	}
	n := copy(p, have)
	s.at += n
	b.n += int64(n)
	if !s.unread() {
		s.dropIn()
	}
	s.consumed(n)
	if s.ss.proto.HasControl() {
		s.ss.out = s.ss.proto.AppendControl(s.ss.out)
		s.ss.wake()
	}
	return n
}

// awaitBody waits for more of the body, or its end, under mu.
func (s *h2Stream) awaitBody() {
	if s.owes100 && !s.begun {
		s.ss.out = s.ss.proto.AppendInterim(s.ss.out, s.st, StatusContinue, nil)
	}
	s.owes100 = false
	if s.reading++; s.reading == 1 {
		s.lastIn = clock.Ticks()
		s.time()
	}
	if len(s.ss.out) > 0 || s.ss.isEarly(s.readDue()) {
		s.ss.wake()
	}
	s.readers.Wait()
	s.reading--
	s.time()
}

// Buffered returns how many bytes have arrived and were not read.
func (b *h2Body) Buffered() int {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	if b.s.in == nil {
		return 0
	}
	return len(b.s.in.B) - b.s.at
}

// ReadsWhole holds a reader of the whole body to the limit of bodies, if no other one was
// set.
func (b *h2Body) ReadsWhole() {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	if b.s.limit == 0 {
		b.s.limit = int64(max(b.s.limits.maxBody, DefaultMaxRequestBodySize))
	}
}

// WholeLimit returns the limit for BindJSON.
func (b *h2Body) WholeLimit() int64 {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	if b.s.limit > 0 {
		return b.s.limit
	}
	return int64(b.s.limits.maxBody)
}

// StreamedFormLimit returns the server's limit for forms. There is none where the
// handler has set a limit for the body.
func (b *h2Body) StreamedFormLimit() int64 {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	if b.s.limit > 0 {
		return -1
	}
	return int64(b.s.ss.s.MaxStreamedFormSize)
}

// Close has nothing to do: the end of the request closes the body.
func (b *h2Body) Close() error { return nil }

// h2Reads reports whether another goroutine reads the body of ctx at this moment, which may
// change the request: with its trailer section.
func h2Reads(ctx *RequestCtx) bool {
	s, ok := ctx.x.(*h2Stream)
	if !ok {
		return false
	}
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	return s.reading > 0
}
