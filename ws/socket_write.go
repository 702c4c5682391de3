package ws

import (
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// minSend is the size in bytes from which on a message that OnMessage sends back isn't
// copied.
const minSend = 16 << 10

// writeMessage sends a message, compressed if that was negotiated. mayWait says whether
// QueueWait applies.
func (s *Socket) writeMessage(op wsframe.Opcode, data []byte, mayWait bool) error {
	p := s.params
	if !p.compresses(len(data)) {
		return s.write(op, false, data, mayWait)
	}
	if !p.deflate.ServerNoTakeover {
		return s.writeTakeover(op, data, mayWait)
	}
	d := wsframe.NewDeflater(p.deflate, false, p.compression.Level)
	if !d.Worth(len(data)) {
		return s.write(op, false, data, mayWait)
	}
	b := pool.Get(len(data))
	defer pool.Put(b)
	if b.B = d.Append(b.B, data); len(b.B) >= len(data) {
		return s.write(op, false, data, mayWait)
	}
	return s.write(op, true, b.B, mayWait)
}

// compresses reports whether messages of n bytes are compressed.
func (p *params) compresses(n int) bool {
	return p.deflate.On && n >= p.compression.Threshold
}

// writeTakeover compresses a message with the window of the messages before, and sends
// it. mu is held meanwhile: messages must be sent in the order in which they were compressed.
func (s *Socket) writeTakeover(op wsframe.Opcode, data []byte, mayWait bool) error {
	s.mu.Lock()
	if err := s.admit(len(data), mayWait); err != nil {
		s.mu.Unlock()
		return err
	}
	wake := false
	if s.z.out.Worth(len(data)) {
		b := pool.Get(len(data))
		b.B = s.z.out.Append(b.B, data)
		wake = s.put(op, true, b.B)
		pool.Put(b)
	} else {
		wake = s.put(op, false, data)
	}
	s.mu.Unlock()
	if wake {
		s.c.Wake()
	}
	return nil
}

// write sends a frame that is a whole message or a ping.
func (s *Socket) write(op wsframe.Opcode, compressed bool, data []byte, mayWait bool) error {
	s.mu.Lock()
	if err := s.admit(len(data), mayWait); err != nil {
		s.mu.Unlock()
		return err
	}
	// If Send leaves output to the server, nothing more is written until the callback
	// returns. So no call may wait in the callback then.
	if len(data) >= minSend && s.in != nil && &data[0] == s.in.lent && s.is(outOpen) && s.params.policy != QueueWait {
		return s.send(op, compressed, data)
	}
	wake := s.put(op, compressed, data)
	s.mu.Unlock()
	if wake {
		s.c.Wake()
	}
	return nil
}

// writePrepared sends p.
func (s *Socket) writePrepared(p *Prepared, mayWait bool) error {
	pr := s.params
	if pr.compresses(len(p.data)) && !pr.deflate.ServerNoTakeover {
		// The peer's window gets this message, so that ours must get it, too.
		return s.writeTakeover(wsframe.Opcode(p.t), p.data, mayWait)
	}
	frame := p.frame(pr)
	s.mu.Lock()
	if err := s.admit(len(frame), mayWait); err != nil {
		s.mu.Unlock()
		return err
	}
	wake := false
	if s.is(outOpen) {
		out := s.c.Out()
		*out = append(*out, frame...)
		s.watchOut(*out)
	} else {
		b := s.queue().room(len(frame))
		b.B = append(b.B, frame...)
		wake = s.tell()
	}
	s.mu.Unlock()
	if wake {
		s.c.Wake()
	}
	return nil
}

// admit decides whether n bytes more may be sent, and waits if it must. mu is held; it is
// released while admit waits.
func (s *Socket) admit(n int, mayWait bool) error {
	for {
		if s.is(sentClose | broken | over) {
			return ErrClosed
		}
		waiting := s.waiting()
		if waiting == 0 || waiting+n <= s.params.maxQueue {
			return nil
		}
		stats := s.params.stats
		switch {
		case s.params.policy == QueueClose:
			stats.queueClosed.Add(1)
			s.overflow()
			return ErrQueueFull
		case s.params.policy == QueueDrop || !mayWait:
			stats.dropped.Add(1)
			return ErrQueueFull
		}
		stats.waits.Add(1)
		if s.is(inCall) && !s.is(flushing|outLeft) {
			s.flush() // what waits can't wait for the end of the callback, which may wait, too
			continue
		}
		s.queue().wait()
	}
}

// waiting returns how many bytes wait to be sent. mu is held.
func (s *Socket) waiting() int {
	n := s.q.size()
	if s.is(outOpen) {
		n += len(*s.c.Out())
	}
	return n
}

// put appends a frame to the output. It reports whether the caller must call Wake when it
// has released mu, which is held.
func (s *Socket) put(op wsframe.Opcode, compressed bool, data []byte) (wake bool) {
	if s.is(outOpen) {
		out := s.c.Out()
		*out = wsframe.AppendFrame(*out, op, true, compressed, data)
		s.watchOut(*out)
		return false
	}
	b := s.queue().room(wsframe.MaxHeader + len(data))
	b.B = wsframe.AppendFrame(b.B, op, true, compressed, data)
	return s.tell()
}

// watchOut sets outFull if the connection must write out before it gets more input. mu is
// held.
func (s *Socket) watchOut(out []byte) {
	if len(out) > gale.OutLimit {
		s.set(outFull)
	}
}

// queue returns the queue, which it makes if there is none. mu is held.
func (s *Socket) queue() *queue {
	if s.q == nil {
		s.q = acquireQueue(&s.mu)
	}
	return s.q
}

// tell reports whether Wake must be called for what is in the queue: not if a callback runs,
// which looks at the queue at its end, and not if Received will be called anyway. mu is
// held.
func (s *Socket) tell() (wake bool) {
	if s.is(woken | inCall | outLeft | over) {
		return false
	}
	s.set(woken)
	s.q.since = clock.Ticks()
	return true
}

// moveQueue moves what is in the queue to the connection, as much as it may have at once.
// If that is all, further output goes directly to the connection. mu is held, and a method
// of session runs.
func (s *Socket) moveQueue() {
	out := s.c.Out()
	if q := s.q; q != nil {
		*out = q.take(*out, max(gale.OutLimit+1-len(*out), 0))
		s.watchOut(*out)
		q.wake()
		if q.size() > 0 {
			return
		}
		if q.waiters == 0 {
			q.release()
			s.q = nil
		}
	}
	if !s.is(broken) {
		s.set(outOpen)
	}
}

// send sends a message whose data is what OnMessage got, without a copy. So this is the
// goroutine that runs OnMessage, and it may call Send. mu is held; send releases it.
// Meanwhile, output of other goroutines goes to the queue.
func (s *Socket) send(op wsframe.Opcode, compressed bool, data []byte) error {
	h := wsframe.Header{Fin: true, Op: op, Length: int64(len(data))}
	if compressed {
		h.Rsv = wsframe.Rsv1
	}
	out := s.c.Out()
	*out = wsframe.AppendHeader(*out, h)
	s.unset(outOpen)
	s.mu.Unlock()
	done, err := s.c.Send(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.set(broken | outFull)
		return ErrClosed
	case !done:
		s.set(outLeft | outFull)
	default:
		s.moveQueue()
	}
	return nil
}

// flush writes the output of a callback, and waits for the peer. Then output of the queue
// follows. mu is held; it is released meanwhile. The goroutine may be another one than that
// of the callback: leave waits for it.
func (s *Socket) flush() {
	s.unset(outOpen)
	s.set(flushing)
	s.mu.Unlock()
	_, err := s.c.Send(nil) // without data it waits until all output is written
	s.mu.Lock()
	s.unset(flushing | outFull)
	if err != nil {
		s.set(broken | outFull | sentClose)
	} else {
		s.moveQueue()
	}
	s.q.wake()
}

// slowAfter is how long a connection may not have taken what is in its queue before
// overflow believes that it can't send a close frame.
const slowAfter = clock.Tick(time.Second)

// overflow closes the connection because its queue is full. If it takes nothing, it is
// broken, at once if that is known, or when CloseTimeout has passed. mu is held.
func (s *Socket) overflow() {
	s.set(sentClose)
	s.end = &CloseError{Code: StatusTryAgainLater, Reason: "too slow", Local: true}
	frame := closeFrame(StatusTryAgainLater, s.end.Reason)
	if s.is(outOpen) {
		out := s.c.Out()
		*out = append(*out, frame...)
		return
	}
	q := s.queue()
	if !s.is(inCall) && (s.is(outLeft) || s.is(woken) && clock.Ticks()-q.since > slowAfter) {
		q.drop()
		q.wake()
		s.c.Kill(ErrQueueFull)
		return
	}
	if !q.begun { // otherwise the connection may have got a part of a frame
		q.drop()
	}
	b := q.room(len(frame))
	b.B = append(b.B, frame...)
	q.wake()
	time.AfterFunc(s.params.closeTimeout, func() { s.c.Kill(ErrQueueFull) })
}

// closeFrame returns a close frame as servers send it.
func closeFrame(code StatusCode, reason string) []byte {
	payload := wsframe.AppendClose(make([]byte, 0, wsframe.MaxControl), uint16(code), reason)
	return wsframe.AppendFrame(nil, wsframe.Close, true, false, payload)
}
