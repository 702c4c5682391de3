package gale

import (
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h2"
)

// push lets user code of a stream run, under mu. Feed does that: who pushes outside of the
// session's methods calls wake.
func (ss *h2Session) push(s *h2Stream) {
	if s.queued || s.runs {
		return
	}
	s.queued = true
	if ss.last == nil {
		ss.first = s
	} else {
		ss.last.next = s
	}
	ss.last = s
}

// pop returns the next stream to run, nil if none is ready, under mu.
func (ss *h2Session) pop() *h2Stream {
	s := ss.first
	if s == nil {
		return nil
	}
	if ss.first = s.next; ss.first == nil {
		ss.last = nil
	}
	s.next = nil
	s.queued, s.runs = false, true
	return s
}

// maxH2Runs bounds the user code that one Feed runs before what it left is written.
const maxH2Runs = 64

// nextRun returns the stream whose user code Feed runs next, after that of n others, nil if
// there is none, under mu.
func (ss *h2Session) nextRun(n int) *h2Stream {
	for n < maxH2Runs && len(ss.out) < maxBatch {
		s := ss.pop()
		if s == nil || !s.streams() {
			return s
		}
		go ss.runAlone(s)
	}
	return nil
}

// runShared runs user code of a stream in Feed. It returns the workspace, or nil if another
// goroutine has taken the connection over.
func (ss *h2Session) runShared(s *h2Stream, w *engine.Work, more bool, due clock.Tick) *engine.Work {
	sharer := ss.c.Share(w, more, due)
	if ss.s.MaxRunningHandlers > 0 {
		ss.c.PassOn(sharer) // no goroutine may be left for what the handler waits for
	}
	s.run(sharer)
	w, ok := ss.c.Unshare(sharer)
	if !ok {
		ss.wake()
		return nil
	}
	return w
}

// streams reports whether the handler of a request is about to wait for its body, under
// mu.
func (s *h2Stream) streams() bool { return s.inErr == nil && s.limits.stream }

// runAlone runs user code of a stream on a goroutine of its own.
func (ss *h2Session) runAlone(s *h2Stream) {
	s.run(nil)
	ss.wake()
}

// runRest runs what is left when the session has been closed.
func (ss *h2Session) runRest() {
	if s := ss.popRest(); s != nil {
		s.run(nil)
	}
}

func (ss *h2Session) popRest() *h2Stream {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.pop()
	if ss.first != nil {
		go ss.runRest() // whatever s does
	}
	return s
}

// run does the next step of a stream with user code. It is called without mu, by the
// goroutine that owns the stream until finish, or until s.runs is false again. sharer is
// that of the goroutine if it shares the connection.
func (s *h2Stream) run(sharer *engine.Sharer) {
	returned := false
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

// isLost reports whether the response isn't wanted any more, before the handler has
// begun. The stream must be finished then.
func (s *h2Stream) isLost() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.sendErr == nil || s.begun {
		return false
	}
	s.step = h2Finish
	return true
}

// stopped ends a stream after a panic with r of user code other than the handler, or after
// runtime.Goexit, for which r is nil: then the goroutine ends with it, and another one has
// the connection.
func (s *h2Stream) stopped(r any, sharer *engine.Sharer) {
	ss := s.ss
	switch {
	case r != nil:
		ss.s.logPanic("while serving "+ss.nc.RemoteAddr().String(), r, stack())
	case sharer != nil:
		ss.c.PassOn(sharer)
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

// broke ends a stream whose user code has not returned.
func (s *h2Stream) broke() {
	if !s.cut() {
		return // in finish: no other request uses the context
	}
	s.wrest()
	s.left = true
	s.finish()
}

// cut resets a stream for both sides. It reports false if that is over.
func (s *h2Stream) cut() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.st == nil {
		return false
	}
	s.ss.proto.ResetStream(s.st, h2.InternalError)
	s.inErr, s.sendErr = errStreamClosed, errStreamClosed
	s.in.drop()
	s.readers.Broadcast()
	s.senders.Broadcast()
	return true
}
