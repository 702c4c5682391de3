package gale

import (
	"runtime/debug"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h2"
)

// push puts a stream into the list of streams whose user code can run, under mu. Feed
// runs it: a caller outside of Open, Feed and Stall must call wake.
func (ss *h2Session) push(s *h2Stream) {
	if s.turn != h2Rests {
		return
	}
	s.turn = h2Queued
	if ss.last == nil {
		ss.first = s
	} else {
		ss.last.next = s
	}
	ss.last = s
}

// maxUnsent is how much memory the responses that wait for windows may hold, in KiB, before
// no more requests are begun.
const maxUnsent = 32 << 10

// keepUnsent counts the memory of a response that the session sends, and of its request,
// under mu. A body that the server shares with other responses doesn't count, nor does a
// request that other goroutines may be using.
func (s *h2Stream) keepUnsent() {
	n := s.resp.bodyMemory()
	if !s.left && !s.ctx.isDetached() {
		n += s.ctx.Request.bodyMemory()
	}
	s.unsent = int32(min((n+1<<10-1)>>10, maxUnsent/4)) // one long response must not stop all others
	s.ss.unsent += s.unsent
}

// mayRun reports whether a stream of the list may run now, under mu. While the responses
// that the client doesn't take hold maxUnsent, no request is begun.
func (s *h2Stream) mayRun() bool {
	return s.ss.unsent < maxUnsent || s.step == h2Finish || s.sendErr != nil
}

// ready returns the first stream of the list that may run, under mu, or nil.
func (ss *h2Session) ready() *h2Stream {
	s := ss.first
	for s != nil && !s.mayRun() {
		s = s.next
	}
	return s
}

// pop takes the next stream to run from the list, under mu. It returns nil if none is
// ready.
func (ss *h2Session) pop() *h2Stream {
	s, before := ss.first, (*h2Stream)(nil)
	for s != nil && !s.mayRun() {
		before, s = s, s.next
	}
	if s == nil {
		return nil
	}
	if before == nil {
		ss.first = s.next
	} else {
		before.next = s.next
	}
	if s.next == nil {
		ss.last = before
	}
	s.next = nil
	if s.collects {
		s.collects = false
		s.collected()
	}
	s.turn = h2Runs
	return s
}

// maxH2Runs limits how many streams one Feed runs before its output is written.
const maxH2Runs = 64

// nextRun returns the stream whose user code Feed runs next, nil if there is none. n is
// how many the Feed has already run. A stream whose handler will wait for its body gets a
// goroutine of its own instead. nextRun is called under mu.
func (ss *h2Session) nextRun(n int) *h2Stream {
	for ss.first != nil && n < maxH2Runs && len(ss.out) < maxBatch {
		s := ss.pop()
		if s == nil || !s.streams() {
			return s
		}
		ss.apart++
		go ss.runAlone(s)
	}
	return nil
}

// runShared runs user code of a stream in Feed. It returns the workspace, or nil if another
// goroutine has taken the connection over.
func (ss *h2Session) runShared(s *h2Stream, w *engine.Work, more bool, due clock.Tick) *engine.Work {
	sharer := ss.c.Share(w, more, due)
	if ss.s.MaxRunningHandlers > 0 {
		ss.c.PassOn(sharer) // else no goroutine may be left to bring what the handler waits for
	}
	s.run(sharer)
	w, ok := ss.c.Unshare(sharer)
	if !ok {
		ss.wake()
		return nil
	}
	return w
}

// streams reports whether the handler will read a streamed body that has not arrived
// completely, and so will probably wait for it. It is called under mu.
func (s *h2Stream) streams() bool { return s.inErr == nil && s.limits.stream }

// endApart is the last step of a goroutine that runs user code apart from the engine. It was
// counted in apart, under mu, before it began. After the end of the connection the server goes
// on to count that, so that Shutdown waits, until the last of these goroutines ends: see staysCounted.
func (ss *h2Session) endApart() {
	ss.mu.Lock()
	ss.apart--
	last := ss.apart == staysApart
	if last {
		ss.apart = 0
	}
	ss.mu.Unlock()
	if last {
		ss.s.unhold(ss.addr())
	}
}

// runAlone runs user code of a stream on a goroutine of its own.
func (ss *h2Session) runAlone(s *h2Stream) {
	defer ss.endApart()
	s.run(nil)
	ss.wake()
}

// runRest runs the user code that is left after Closed.
func (ss *h2Session) runRest() {
	defer ss.endApart()
	if s := ss.popRest(); s != nil {
		s.run(nil)
	}
}

func (ss *h2Session) popRest() *h2Stream {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.pop()
	if ss.first != nil {
		ss.apart++
		go ss.runRest() // even if s blocks or panics
	}
	return s
}

// run does the next step of a stream that runs user code. It is called without mu, by the
// runner: the goroutine that owns the stream until finish, or until turn is h2Rests
// again. sharer is the runner's Sharer if it shares the connection, else nil.
func (s *h2Stream) run(sharer *engine.Sharer) {
	returned := false
	if s.ss.l.fixed.faults {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	defer func() {
		if !returned {
			s.stopped(recover(), sharer)
		}
	}()
	if s.isLost() || s.step != h2Accept || s.accept() {
		if s.step == h2Handle {
			s.serve()
		} else {
			s.finish()
		}
	}
	returned = true
}

// isLost reports whether the client has stopped waiting for the response before any of it
// was sent. Then it makes h2Finish the next step.
func (s *h2Stream) isLost() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.sendErr == nil || s.progress != h2Unsent {
		return false
	}
	s.step = h2Finish
	return true
}

// stopped ends a stream after a panic of user code other than the handler, or after
// runtime.Goexit. r is the value of the panic, nil after Goexit. After Goexit the
// goroutine ends, so it passes the connection on to another one.
func (s *h2Stream) stopped(r any, sharer *engine.Sharer) {
	ss := s.ss
	switch {
	case r != nil:
		ss.s.logPanic("while serving "+addrText(ss.nc.RemoteAddr), r, stack())
	case sharer != nil:
		ss.c.PassOn(sharer)
	}
	if r == nil {
		ss.s.logError(ss.nc, "serving", engine.ErrGoexit)
	}
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("while ending a request", r, stack())
		}
		if r == nil {
			ss.wake()
		}
	}()
	s.broke()
}

// broke ends a stream whose user code was ended by a panic or Goexit.
func (s *h2Stream) broke() {
	if !s.cut() {
		return // user code of finish: nothing else must be ended, and no other request gets the context
	}
	s.ctx.wrest()
	s.left = true
	s.finish()
}

// cut resets a stream and makes its readers and senders fail. It returns false if the
// stream has already ended.
func (s *h2Stream) cut() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.tunnel != nil {
		return !s.ended
	}
	if s.st == nil {
		return false
	}
	s.ss.proto.ResetStream(s.st, h2.InternalError)
	s.inErr, s.sendErr = errStreamClosed, errStreamClosed
	s.in.Drop()
	s.readers.Broadcast()
	s.senders.Broadcast()
	return true
}
