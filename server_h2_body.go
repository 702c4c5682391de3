package gale

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/lifetime"
)

// errH2End is the inErr of a request that has ended normally.
var errH2End = errors.New("gale: the request has ended")

// take handles a piece of the body, under mu. It doesn't keep b.
func (s *h2Stream) take(b []byte, end bool, now clock.Tick) {
	s.lastIn = now
	if s.lingers() {
		if len(b) > 0 || end {
			s.tunnel.end()
		}
		return
	}
	switch {
	case s.inErr != nil && s.inErr != errH2End, s.st.WasReset(): // no goroutine will read it
		s.consumed(len(b))
	case s.step == h2Collect:
		s.consumed(len(b))
		if s.collectMore(b); s.refusal != nil {
			s.step = h2Handle
			s.ss.push(s)
		}
	case len(b) > 0:
		n := copy(s.into, b)
		s.into = s.into[n:]
		s.got += n
		if n < len(b) {
			s.in.put(b[n:], s.expected())
		}
		s.readers.Broadcast()
		s.ss.behind = s.ss.behind || s.in.n >= maxH2Chunk
	}
	if end {
		s.end()
	}
	s.time()
}

// expected returns the length of the body by the head, if the request was not accepted
// yet. It is negative if the length isn't known, or the runner already has the head. It
// is called under mu.
func (s *h2Stream) expected() int64 {
	if s.step != h2Accept || s.runs {
		return -1 // the header belongs to the runner, and then to the handler
	}
	return s.ctx.Request.Header.s.ContentLength
}

// consumed lets the client send n bytes more, under mu.
func (s *h2Stream) consumed(n int) { s.ss.proto.Consumed(s.st, n) }

// takeTrailers handles the trailer section, which ends the body, under mu.
func (s *h2Stream) takeTrailers(now clock.Tick) {
	err := s.ss.proto.DecodeTrailers(&s.trailers)
	if err == nil && s.extended { // only DATA may come (RFC 9113 section 8.5)
		s.ss.proto.ResetStream(s.st, h2.ProtocolError)
		err = errTunnelTrailers
	}
	if err != nil {
		s.fail(&StreamResetError{Code: uint32(h2.ProtocolError)}, true)
		return
	}
	s.lastIn = now
	s.end()
	s.time()
}

// end handles the end of the request, under mu.
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

// collect begins to collect a body that is not streamed, under mu. It returns true if
// there is nothing to wait for. Otherwise the session collects the rest, and a runner
// goes on when all of it has arrived.
func (s *h2Stream) collect() bool {
	ss := s.ss
	if n := s.in.n; n > 0 {
		s.collectIn()
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

// collectIn moves the bytes that have already come to the beginning of the body, under
// mu. Most often they are in one buffer, which becomes the buffer of the body without
// copying.
func (s *h2Stream) collectIn() {
	req := &s.ctx.Request
	q := &s.in
	fresh := len(req.bodyBytes()) == 0 && !req.lent // no other code has a slice of the buffer
	if fresh && len(q.more) == 0 && q.n <= s.limits.maxBody && q.n > cap(req.bodyBuf().B) {
		req.swapBuf(&q.first)
		q.n = 0
	}
	for ; q.n > 0; q.pop() {
		q.n -= len(q.first.B) - q.at
		s.collectMore(q.first.B[q.at:])
	}
	q.drop()
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
	if cap(buf.B)-len(buf.B) < len(b) {
		expected := s.ctx.Request.Header.s.ContentLength
		if room := bodyRoom(len(buf.B), len(b), expected); expected >= 0 {
			buf.GrowTo(room)
		} else {
			buf.Grow(room - len(buf.B))
		}
	}
	buf.Write(b)
}

// giveTrailers gives the trailer section to the context. It is called under mu, by the
// goroutine that owns the request, or by the one that reads its body.
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

// unread reports whether a part of the body has arrived and was not read, under mu.
func (s *h2Stream) unread() bool { return s.in.n > 0 }

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

// h2Body is the body of a request as a stream. Any goroutine may call its methods, one
// goroutine at a time.
type h2Body struct {
	s *h2Stream
	n int64 // bytes read
}

// Read waits until more of the body has arrived.
func (b *h2Body) Read(p []byte) (int, error) {
	s := b.s
	ss := s.ss
	late := (*lifetime.Loan)(nil)
	defer func() { used(late) }() // without mu
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for {
		switch {
		case len(p) == 0:
			return 0, nil
		case s.st == nil:
			late = s.ctx.loan
			return 0, errStreamClosed
		case s.limit > 0 && b.n >= s.limit && s.unread():
			return 0, ErrBodyTooLarge
		case s.unread():
			n := s.in.take(b.bound(p))
			b.read(n)
			return n, nil
		case s.inErr == errH2End:
			s.giveTrailers()
			return 0, io.EOF
		case s.inErr != nil:
			return 0, s.inErr
		}
		if s.reading > 0 {
			s.awaitBody()
			continue
		}
		s.into = b.bound(p)
		s.awaitBody()
		n := s.got
		s.into, s.got = nil, 0
		if n > 0 {
			b.read(n)
			return n, nil
		}
	}
}

// bound returns the prefix of p that the limit allows to fill, under mu.
func (b *h2Body) bound(p []byte) []byte {
	if b.s.limit > 0 {
		p = p[:min(int64(len(p)), max(b.s.limit-b.n, 0))]
	}
	return p
}

// read records that n bytes were read, under mu, and lets the client send as many more.
func (b *h2Body) read(n int) {
	s := b.s
	b.n += int64(n)
	if s.st == nil {
		return // the stream has ended since these bytes came
	}
	s.consumed(n)
	if s.ss.proto.HasControl() {
		s.ss.out = s.ss.proto.AppendControl(s.ss.out)
		s.ss.wake()
	}
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
	return b.s.in.n
}

// ReadsWhole is called before the whole body is read into memory. It limits the body to
// the server's limit, if no other limit was set.
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

// StreamedFormLimit returns the server's limit for forms. It is -1, no limit, if the
// handler has set a limit for the body.
func (b *h2Body) StreamedFormLimit() int64 {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	if b.s.limit > 0 {
		return -1
	}
	return int64(b.s.ss.s.MaxStreamedFormSize)
}

// Close does nothing: the end of the request closes the body.
func (b *h2Body) Close() error { return nil }

// h2Reads reports whether another goroutine is waiting for the body of ctx. Such a reader
// may change the request: it adds the trailer section.
func h2Reads(ctx *RequestCtx) bool {
	s, ok := ctx.x.(*h2Stream)
	if !ok {
		return false
	}
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	return s.reading > 0
}
