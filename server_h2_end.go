package gale

import (
	"errors"
	"io"
	"net"
	"sync"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h2"
)

// How connections of HTTP/2 end: timeouts, the client's end of stream, a shutdown.

// h2Sessions is the list of a server's HTTP/2 connections. A shutdown uses it to make
// each of them send GOAWAY (RFC 9113 section 6.8), even those that are idle: engines
// would close these without telling the client. For a drain the list isn't needed, since
// then engines feed all sessions that have a Waker.
type h2Sessions struct {
	mu    sync.Mutex // after serverRun.mu, before the locks of engines
	first *h2Session
}

func (l *h2Sessions) add(ss *h2Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ss.after = l.first; ss.after != nil {
		ss.after.before = ss
	}
	l.first = ss
}

// remove does nothing if ss is not there.
func (l *h2Sessions) remove(ss *h2Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ss.before != nil:
		ss.before.after = ss.after
	case l.first == ss:
		l.first = ss.after
	default:
		return
	}
	if ss.after != nil {
		ss.after.before = ss.before
	}
	ss.before, ss.after = nil, nil
}

// leave is called before the engines stop. Stopping closes idle connections, but those
// that were woken before are fed first.
func (l *h2Sessions) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ss := l.first; ss != nil; ss = ss.after {
		ss.leaving.Store(true)
		ss.wake()
	}
}

// stop makes the connection end when all its streams have ended, under mu. Streams that
// are opened later are ignored, and GOAWAY says so.
func (ss *h2Session) stop() {
	ss.proto.Stop()
	ss.closing = true
}

// stopLater is stop for callers without mu. The caller must call wake later.
func (ss *h2Session) stopLater() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.stop()
}

// timeHead sets headDue, under mu, after what has arrived was read. It also limits the
// time of a frame that has arrived in part, if there are no streams: no other limit
// applies then, since such a connection isn't idle.
func (ss *h2Session) timeHead(streams int) {
	ss.headDue = 0
	since := ss.proto.HeadSince()
	if since == 0 && streams == 0 {
		since = ss.proto.FrameSince()
	}
	if since != 0 {
		if d := ss.s.headTimeout(); d > 0 {
			ss.headDue = since.Add(d)
		}
	}
}

// helloDue returns when the preface and the first SETTINGS must have come.
func (ss *h2Session) helloDue() clock.Tick {
	d := defaultHelloTimeout
	if t := ss.s.ReadTimeout; t > 0 && t < d {
		d = t
	}
	return ss.opened.Add(d)
}

// deadline returns when Stall must check the connection, 0 for never. It is called under
// mu.
func (ss *h2Session) deadline(streams int) clock.Tick {
	ss.timeHead(streams)
	due := ss.headDue
	switch {
	case !ss.proto.Greeted():
		due = clock.Earlier(due, ss.helloDue())
	case streams == 0:
		if ss.idleDue == 0 {
			if d := ss.s.idleTimeout(); d > 0 {
				ss.idleDue = clock.Ticks().Add(d)
			}
		}
		due = clock.Earlier(due, ss.idleDue)
	case ss.waiting > 0:
		ss.proto.All(func(st *h2.Stream) bool {
			due = clock.Earlier(due, h2StreamOf(st).nextDue())
			return true
		})
	}
	return due
}

// isEarly reports whether due is earlier than the deadline that the engine has; 0 is
// never. Then the engine must be told. It is called under mu.
func (ss *h2Session) isEarly(due clock.Tick) bool { return due != 0 && (ss.due == 0 || due < ss.due) }

// Stall handles timeouts and the client's end of stream, or ends the connection.
func (ss *h2Session) Stall(w *engine.Work, why error, next *engine.Next) {
	ss.mu.Lock()
	defer ss.unlock()
	switch {
	case engine.IsTimeout(why):
		ss.checkTime(clock.Ticks())
	case why == io.EOF && (ss.proto.Streams() > 0 || len(ss.out) > 0):
		ss.endInput()
	default:
		if why != io.EOF {
			ss.fault(why)
		}
		next.Op = engine.Close
		return
	}
	ss.takeBuf()
	ss.write(w, next)
}

// endInput handles the client's end of stream, under mu. Complete requests are still
// answered, as for HTTP/1.1.
func (ss *h2Session) endInput() {
	ss.halved = true
	ss.proto.All(func(st *h2.Stream) bool {
		s := h2StreamOf(st)
		s.tell(ErrClientGone, false)
		if !st.PeerEnded() {
			s.fail(io.ErrUnexpectedEOF, false)
		}
		return true
	})
	ss.cutStalled()
}

// cutStalled resets the streams that wait for a window after the client has ended its
// side, under mu: no window will come. Some of them would never get a turn in which to
// notice that.
func (ss *h2Session) cutStalled() {
	ss.proto.All(func(st *h2.Stream) bool {
		s := h2StreamOf(st)
		if waits := s.stalled != 0 || s.step == h2Send && s.turn != h2Runs; waits && s.sendErr == nil && ss.proto.SendRoom(st) == 0 {
			ss.proto.ResetStream(st, h2.Cancel)
			s.fail(ErrClientGone, true)
		}
		return true
	})
}

// owesAnswers reports whether the client still waits for the response of a stream, under
// mu. Streams that were reset don't count, although their handlers may still run.
func (ss *h2Session) owesAnswers() (owes bool) {
	ss.proto.All(func(st *h2.Stream) bool {
		owes = owes || h2StreamOf(st).sendErr == nil
		return !owes
	})
	return owes
}

// checkTime ends what takes too long, under mu. It must handle everything for which
// deadline returns a due: otherwise the engine would call Stall again at once.
func (ss *h2Session) checkTime(now clock.Tick) {
	headLate := ss.headDue != 0 && ss.headDue <= now
	switch {
	case !ss.proto.Greeted():
		if headLate || ss.helloDue() <= now {
			ss.s.stats.timeouts.Add(1)
			ss.proto.Fail(h2.SettingsTimeout)
		}
	case headLate:
		ss.s.stats.timeouts.Add(1)
		ss.proto.Fail(h2.EnhanceYourCalm)
		ss.failAll(ErrTimeout)
	case ss.proto.Streams() == 0:
		if ss.idleDue != 0 && ss.idleDue <= now {
			ss.stop()
		}
	default:
		ss.proto.All(func(st *h2.Stream) bool {
			h2StreamOf(st).checkTime(now)
			return true
		})
	}
}

// failAll fails all streams, under mu. After a panic in open there may be a stream
// without an h2Stream.
func (ss *h2Session) failAll(err error) {
	ss.proto.All(func(st *h2.Stream) bool {
		if s, ok := st.Owner.(*h2Stream); ok {
			s.fail(err, true)
		}
		return true
	})
	ss.tellRoom()
}

// Closed ends all streams. Handlers that run go on, and get errors that say that the
// client has gone, or net.ErrClosed if Server.Close has closed the connection.
func (ss *h2Session) Closed(err error) {
	defer ss.end(err)
	ss.s.run.h2.remove(ss)
	if errors.Is(err, net.ErrClosed) || errors.Is(ss.cause(), net.ErrClosed) {
		ss.endAll(net.ErrClosed)
		return
	}
	ss.endAll(ErrClientGone)
}

// endAll fails all streams with why at the end of the connection, and runs what user code of theirs must
// still run. While goroutines run user code, the server goes on to count the connection: see
// staysCounted. ServeConn dismisses its connection in any case, also when a handler has ended its
// goroutine. So that one is counted once more.
func (ss *h2Session) endAll(why error) {
	ss.mu.Lock()
	defer ss.unlock()
	ss.gone = true
	ss.proto.Fail(h2.NoError)
	ss.failAll(why)
	ss.giveBuf()
	ss.forget()
	if ss.first != nil {
		ss.apart++
		go ss.runRest()
	}
	if ss.l.ln == nil && ss.apart > 0 {
		ss.apart += staysApart
		ss.s.hold(ss.addr())
	}
}

// staysCounted passes the count of the connection on to the goroutines that run user code apart, if
// there are any: the last of them dismisses it.
func (ss *h2Session) staysCounted() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.l.ln == nil || ss.apart == 0 {
		return false
	}
	ss.apart += staysApart
	ss.s.stats.held.Add(1)
	return true
}

// forget gives back the memory of the connection, under mu, if it has ended and so have
// all its streams.
func (ss *h2Session) forget() {
	if ss.gone && ss.proto.Streams() == 0 {
		ss.proto.End()
	}
}
