package gale

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
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
		if s.collectMore(b); s.refusal != nil {
			s.inErr = s.refusal
			s.step = h2Handle
			s.ss.push(s)
		} else if !end {
			s.ss.proto.Collect(s.st)
		}
	case len(b) > 0:
		n := copy(s.into, b)
		s.into = s.into[n:]
		s.got += n
		if n < len(b) {
			s.in.Put(b[n:], s.expected())
		}
		s.readers.Broadcast()
		s.ss.behind = s.ss.behind || s.in.Len() >= pool.MaxChunk
	}
	if end {
		s.end()
	}
	s.time()
}

// expected is mayCome if the request was not accepted yet. Otherwise, and if the runner
// already has the head, it is negative. It is called under mu.
func (s *h2Stream) expected() int64 {
	if s.step != h2Accept || s.turn == h2Runs {
		return -1 // the header belongs to the runner, and then to the handler
	}
	return s.mayCome()
}

// mayCome returns how much of a body that is collected, or not yet accepted, can come: its
// length by the head or, if that is less, what the client has room for. It is negative if
// the length isn't known. It is called under mu.
func (s *h2Stream) mayCome() int64 {
	return min(s.ctx.Request.Header.s.ContentLength, s.st.Allowed())
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
	s.collectIn()
	switch {
	case s.sendErr != nil:
		s.step = h2Finish
		return true
	case s.refusal == nil && s.inErr != nil && s.inErr != errH2End:
		s.refusal = s.inErr // it took too long, or the client ended its side
	}
	if s.refusal != nil || s.inErr != nil {
		if s.step = h2Handle; s.inErr == nil {
			s.inErr = s.refusal
		}
		s.collected()
		ss.out = ss.proto.AppendControl(ss.out)
		return true
	}
	s.step, s.turn, s.collects = h2Collect, h2Rests, true
	ss.proto.Collect(s.st)
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
	if n := q.Len(); fresh && n <= s.limits.maxBody && n > cap(req.bodyBuf().B) {
		if b := q.TakeBuf(); b != nil {
			req.swapBuf(&b)
			pool.Put(b)
		}
	}
	for q.Len() > 0 {
		b := q.Next()
		s.collectMore(b)
		q.Skip(len(b))
	}
	q.Drop()
}

// collected says that the body doesn't wait for its handler any more, or was dropped. That
// makes room for other bodies. It is called under mu.
func (s *h2Stream) collected() {
	s.ss.proto.Collected(s.st)
	s.ss.resume()
}

// resume lets streams go on that waited for room for their bodies, under mu.
func (ss *h2Session) resume() {
	if ss.proto.HasWaiting() {
		ss.resumeWaiting()
	}
}

func (ss *h2Session) resumeWaiting() {
	for st := ss.proto.Resume(); st != nil; st = ss.proto.Resume() {
		s := h2StreamOf(st)
		s.lastIn = clock.Ticks()
		s.time()
	}
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
		expected := s.mayCome()
		if room := pool.Room(len(buf.B), len(b), expected); expected >= 0 {
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
	if s.body.section == sectionDue {
		s.body.section = sectionStored
		s.ctx.takeTrailers(s.ss.s.MergeTrailers)
	}
}

// giveAllTrailers is giveTrailers without mu.
func (s *h2Stream) giveAllTrailers() {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.giveTrailers()
}

// unread reports whether a part of the body has arrived and was not read, under mu.
func (s *h2Stream) unread() bool { return s.in.Len() > 0 }

// openBody lets the handler read the body as a stream, under mu.
func (s *h2Stream) openBody(length int64) {
	ctx := s.ctx
	s.streamed, s.body.loan = true, ctx.loan
	ctx.Request.removeForm()
	ctx.Request.setStream(&s.body)
	ctx.Request.Header.setLength(length)
	if h := &ctx.Request.Header.s; h.Trailers.Open {
		h.Trailers.Expect(&h.Fields, &s.body)
	}
}

// h2Body is the body of a request as a stream, and a handle for it: the memory of the
// stream isn't used again if a body was streamed. Any goroutine may call its methods, one
// goroutine at a time, and Revoke at any time.
type h2Body struct {
	s       *h2Stream
	n       int64          // bytes read
	revoked bool           // Revoke was called
	section int32          // where the trailer section goes: sectionDue and so on
	loan    *lifetime.Loan // of the context, nil if a late Read isn't reported
	lent    atomic.Bool    // the program has it
}

// lendStream notes that the program gets the body.
func (b *h2Body) lendStream() io.Reader {
	b.lent.Store(true)
	return b
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
		case s.st == nil || b.revoked:
			late = b.loan
			return 0, errStreamClosed
		case s.limit > 0 && b.n >= s.limit && s.unread():
			return 0, ErrBodyTooLarge
		case s.unread():
			n := s.in.Take(b.bound(p))
			b.read(n)
			return n, nil
		case s.inErr == errH2End:
			s.giveTrailers()
			return 0, io.EOF
		case s.inErr != nil:
			return 0, s.inErr
		case s.owes100 && s.progress != h2Unsent && b.n == 0:
			return 0, door.ErrNotAsked
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
	s.ask()
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

// LendTrailers implements door.TrailerLender.
func (b *h2Body) LendTrailers(_ door.Seal, header any) bool {
	s := b.s
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.st == nil || b.revoked || header != any(&s.ctx.Request.Header) {
		return false
	}
	if b.section == sectionDue {
		b.section = sectionLent
	}
	return b.section == sectionLent
}

// GiveTrailers implements door.TrailerLender.
func (b *h2Body) GiveTrailers(_ door.Seal, header any) {
	s := b.s
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.st != nil && !b.revoked {
		s.ctx.storeTrailers(header.(*RequestHeader), s.ss.s.MergeTrailers)
	}
}

// ask sends the 100 if it is owed and no head was sent, under mu.
func (s *h2Stream) ask() {
	if s.owes100 && s.progress == h2Unsent {
		s.ss.out = s.ss.proto.AppendInterim(s.ss.out, s.st, StatusContinue, nil)
	}
	s.owes100 = false
}

// askFor is called before the head of resp, which is sent in parts, under mu. reads says that
// the program may read the body after it: see requestStream.answer.
func (s *h2Stream) askFor(resp *Response, reads bool) {
	if s.owes100 && s.inErr == nil && reads && resp.StatusCode()/100 == 2 {
		s.ask()
	}
}

// Buffered returns how many bytes have arrived and were not read.
func (b *h2Body) Buffered() int {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	return b.s.in.Len()
}

// IsLast reports whether nothing comes after the bytes that Buffered counts: neither other bytes nor a
// trailer section. Package reverse asks for it.
func (b *h2Body) IsLast() bool {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	return b.s.inErr == io.EOF && len(b.s.trailers.Recs) == 0
}

// Taken returns how many bytes of the body were read. Package reverse asks for it.
func (b *h2Body) Taken() int64 {
	b.s.ss.mu.Lock()
	defer b.s.ss.mu.Unlock()
	return b.n
}

// ReadsWhole is called before the whole body is read into memory. It limits the body to
// the server's limit, if no other limit was set.
func (b *h2Body) ReadsWhole() {
	b.s.ss.s.warnReadsWhole()
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

// Revoke ends the handle, and with it the reading of the body, for a client that has sent
// it. A Read that waits touches only the stream's lock after that. As for a bodyHandle, a
// later Read isn't reported.
func (b *h2Body) Revoke(door.Seal) {
	s := b.s
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	b.revoked, b.loan = true, nil
	s.into = nil
	if s.st != nil {
		s.closeBody()
	}
}

// Reading reports whether a goroutine is waiting for the body.
func (s *h2Stream) Reading() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	return s.reading > 0
}
