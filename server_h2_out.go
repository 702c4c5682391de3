package gale

import (
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
)

// maxH2Piece is how much of a body is sent before other streams have their turn. It may
// be up to minH2Piece more, if that is the rest of the body.
const (
	maxH2Piece = 32 << 10
	minH2Piece = 4 << 10
)

// pieceOf returns the piece of b that must be sent now. It is called under mu, while out
// is not full. Long bodies make out nearly as long as maxOut, but not longer: so it fills
// whole TLS records, without a short one after them.
func (ss *h2Session) pieceOf(b []byte) []byte {
	n := min(maxH2Piece, ss.maxOut()-len(ss.out)-64) // 64 for the headers of frames
	if len(b) < n+minH2Piece {
		n = len(b)
	}
	return b[:n]
}

// sendRest sends as much of a body in memory as there is room for, under mu. It returns
// true if the response is complete or can't be sent any more.
func (s *h2Stream) sendRest() (over bool) {
	ss := s.ss
	trailers := s.sendsTrailers(s.resp)
	ss.roomData(min(len(s.rest), ss.proto.SendRoom(s.st)))
	for s.sendErr == nil {
		if ss.isFull() {
			if s.stalled = 0; len(s.rest) > 0 && ss.proto.SendRoom(s.st) == 0 {
				s.stall(true) // it gets no turn in which to notice that
			}
			return s.sendErr != nil
		}
		piece := ss.pieceOf(s.rest)
		last := len(piece) == len(s.rest)
		n := 0
		ss.out, n = ss.proto.AppendData(ss.out, s.st, piece, last && !trailers)
		s.rest = s.rest[n:]
		s.sent += int64(n)
		if n < len(piece) {
			if s.st.WasReset() {
				return true
			}
			s.stall(n > 0)
			return s.sendErr != nil
		}
		s.stalled = 0
		if last {
			if trailers {
				ss.out = ss.proto.AppendTrailers(ss.out, s.st, &s.resp.Header.s.Trailers)
			}
			if !s.st.WasReset() {
				s.progress = h2Complete
			}
			return true
		}
	}
	return true
}

// roomData makes room in out for n bytes of data that can be sent now, and for the
// headers of their frames, under mu. It makes no more room than up to maxOut, where other
// streams have their turn.
func (ss *h2Session) roomData(n int) {
	n = min(n, ss.maxOut()+minH2Piece-len(ss.out))
	ss.roomOut(n + n>>10 + 16)
}

// stall records that the client gives no room, under mu. If the client has ended its
// side, it never will, and stall resets the stream.
func (s *h2Stream) stall(progress bool) {
	if s.stalled == 0 || progress {
		s.stalled = clock.Ticks()
	}
	if s.ss.halved && s.sendErr == nil {
		s.ss.proto.ResetStream(s.st, h2.Cancel)
		s.sendErr = ErrClientGone
		s.senders.Broadcast()
	}
}

// stallQueued records that the client gives no room for the connection, under mu. The
// responses that wait for it get no turn in which to notice that.
func (ss *h2Session) stallQueued() {
	ss.proto.All(func(st *h2.Stream) bool {
		if s := h2StreamOf(st); s.step == h2Send && s.turn != h2Runs && s.stalled == 0 && !ss.halved { // or cutStalled ends it
			s.stall(false)
			s.time()
		}
		return true
	})
}

// sendQueued sends data of the streams in the schedule, in their order, until out is
// full. It is called under mu.
func (ss *h2Session) sendQueued() {
	for !ss.isFull() {
		st := ss.proto.Next()
		if st == nil {
			if ss.proto.IsDry() {
				ss.stallQueued()
			}
			return
		}
		s := h2StreamOf(st)
		if s.step != h2Send || s.turn == h2Runs {
			ss.proto.Unqueue(st) // a goroutine sends: it queues the stream again if it must
			s.senders.Broadcast()
			continue
		}
		if s.sendRest() {
			ss.proto.Unqueue(st)
			s.step = h2Finish
			ss.push(s)
		}
		s.time()
	}
}

// h2Out is the writer for a response body that is sent piece by piece.
type h2Out struct {
	head.Promised
	s    *h2Stream
	skip bool // the body isn't sent: HEAD
}

// sizeOut sets outBody by the head of resp, for which frame was called.
func (s *h2Stream) sizeOut(resp *Response) {
	s.outBody = h2Out{head.Promised{Left: max(resp.Header.s.ContentLength, -1)}, s, resp.SkipBody}
}

// misses returns an error if b, the rest of a body that is sent, doesn't have the length that the head says.
func (o *h2Out) misses(b []byte) error {
	switch {
	case o.skip || o.Left < 0 || int64(len(b)) == o.Left:
		return nil
	case o.Exceeds(b):
		return errBodyStreamTooLong // see bodyOut.writePart
	}
	return errShortBody
}

// Write sends p, and waits while the client gives no room. If p goes beyond the declared
// length of the body, Write sends what belongs to the body and returns
// errBodyStreamTooLong.
func (o *h2Out) Write(p []byte) (int, error) {
	if o.skip {
		return len(p), nil
	}
	return o.Pass(p, o.s.write, errBodyStreamTooLong)
}

// FlushHead makes the engine send the head, which is in the output already. It implements
// door.HeadFlusher.
func (o *h2Out) FlushHead() error {
	o.s.ss.wake()
	return nil
}

// write is h2Out.Write for bytes that belong to the body. Output that already waits in
// out is sent before.
func (s *h2Stream) write(p []byte) (sent int, err error) {
	ss := s.ss
	ss.touch(p)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.boundWrite()
	for sent < len(p) && s.sendErr == nil {
		if ss.isFull() {
			ss.wake()
			s.waitToSend(ss.roomCond())
			continue
		}
		piece := ss.pieceOf(p[sent:])
		n := 0
		ss.roomData(len(piece))
		ss.out, n = ss.proto.AppendData(ss.out, s.st, piece, false)
		s.sent += int64(n)
		if sent += n; n == len(piece) {
			s.stalled = 0
			continue
		}
		if s.st.WasReset() || s.st.Ended() {
			return sent, ErrClientGone // the stream is reset or over: sendErr will say so soon
		}
		if s.stall(n > 0); s.sendErr != nil {
			break
		}
		s.time()
		ss.proto.Queue(s.st)
		ss.wake()
		s.waitToSend(&s.senders)
	}
	s.stalled = 0
	s.time()
	ss.wake()
	if sent < len(p) {
		return sent, s.sendErr
	}
	return sent, nil
}

// sendStream sends a response whose body comes from a stream or a writing function. After
// an error the response is incomplete.
func (s *h2Stream) sendStream(resp *Response) error {
	ss, out := s.ss, &s.outBody
	s.ctx.closeAfter()
	s.beginStream(resp, out.skip)
	if resp.ImmediateHeaderFlush {
		_ = out.FlushHead()
	}
	beyond := boundRest(&out.Left, resp)
	err := out.copyBody(resp)
	out.Left += beyond
	if err == nil && out.Left > 0 && !out.skip {
		err = errShortBody
	}
	s.closeIn()
	if err != nil {
		return err
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.sendsTrailers(resp) { // the stream may have added them at its end
		ss.out = ss.proto.AppendTrailers(ss.out, s.st, &resp.Header.s.Trailers)
	} else {
		ss.out, _ = ss.proto.AppendData(ss.out, s.st, nil, true) // appends nothing if the stream has ended
	}
	s.completed()
	return nil
}

// beginStream sends the head of a response whose body is a stream, unless Flush has
// already sent it.
func (s *h2Stream) beginStream(resp *Response, end bool) {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.progress == h2Unsent {
		s.askFor(resp, !end && s.body.lent.Load())
		s.sendHead(resp, end)
	}
}

// copyBody sends the body stream of resp and closes it, or calls the writing function of
// resp.
func (o *h2Out) copyBody(resp *Response) error {
	if sw := resp.streamWriter; sw != nil {
		resp.streamWriter = nil
		if o.skip {
			return nil
		}
		return runStreamWriter(o, sw)
	}
	if o.skip {
		resp.closeStream(nil)
		return nil
	}
	err := sendBody(o, resp.bodyStream)
	if err == nil && o.Left == 0 && trails(resp.bodyStream) {
		_ = readEnd(resp.bodyStream) // the body is whole, whatever becomes of its trailer section
	}
	if cerr := resp.closeStream(err); err == nil {
		err = cerr
	}
	return err
}
