package engine

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// errKilled says that a connection was closed by somebody else than its session.
var errKilled = net.ErrClosed

// eventConn is a connection of Event. Its owner, see eventWord, owns everything
// but what is said to be otherwise. It is a net.Conn too, see event_net.go.
type eventConn struct {
	word  atomic.Uint32
	fd    int32
	slot  uint32 // in loop.slots
	epoch uint32

	l    *loop
	sess Session
	from *acceptor
	link *eventConn // the next one in loop.ready
	w    *Work      // while it is visited, or while its bytes don't fit a stash
	more atomic.Pointer[connMore]

	timer wheelLink

	phase  phase
	over   bool // there is a connection on top of this one: connMore.over
	op     Op   // what the session wants when what is written is written
	idle   bool
	linger bool
	// drained: the socket has been read to its end; the next edge tells of more.
	drained bool
	// hup: the peer has ended its side, so that a short read means nothing.
	hup bool
	// whole: a short read does not mean that there is nothing more.
	whole bool
	// detached: it is somebody else's, see Detach.
	detached bool
	served   bool    // as isServed says to others
	opened   uint32  // when it began, in seconds of clock.Tick
	addr     rawAddr // of the peer

	writeTimeout time.Duration

	mu sync.Mutex // of fd, as far as others than the owner use it
}

// connMore is what few connections need.
type connMore struct {
	wake       chan struct{} // see await
	stash      []byte        // unread bytes, kept while there is no workspace
	pend       []byte        // output that the socket did not take
	file       *File         // to be sent behind it
	blocked    bool          // pend or file waits for room
	readDue    clock.Tick    // due of the reading that follows
	lingerEnd  clock.Tick
	writeLimit clock.Tick
	readUntil  atomic.Int64 // deadlines of the net.Conn
	writeUntil atomic.Int64
	watch      atomic.Pointer[eventWatch]
	local      atomic.Pointer[rawAddr]
	over       net.Conn // see StartOver
	hijacked   atomic.Pointer[net.Conn]
}

// phase is what a connection does.
type phase uint8

const (
	reading   phase = iota // waits for bytes
	feeding                // has the session called without waiting
	writing                // waits for room, then does op
	lingering              // has ended its side and discards what comes
	accepting              // is no connection but a listener
)

// seconds is the unit of eventConn.opened.
const seconds = clock.Tick(time.Second)

// isFresh reports whether the connection has only just begun, and sent nothing:
// its first request may be on its way.
func (c *eventConn) isFresh(now clock.Tick) bool {
	return c.word.Load()&isServed == 0 && now-clock.Tick(c.opened)*seconds <= fresh
}

// extra returns the rarely used part.
func (c *eventConn) extra() *connMore {
	if c.more.Load() == nil {
		c.more.CompareAndSwap(nil, new(connMore))
	}
	return c.more.Load()
}

// verdict is how a step of a visit ended.
type verdict uint8

const (
	again verdict = iota // there is more to do
	wait                 // until something is posted
	ended                // the connection is over
)

// A visit ends, so that others get their turn, after so many bytes read or so
// many calls of the session.
const (
	visitBytes = 64 << 10
	visitFeeds = 32
)

// visit does what can be done for c, which the caller owns, after ev. It runs
// the session, and with it handlers.
func (c *eventConn) visit(ev uint32, wk *worker) {
	if ev&evTurn != 0 {
		ev |= c.take()
	}
	c.note(ev)
	wk.bytes, wk.feeds = 0, 0
	for {
		var v verdict
		switch c.phase {
		case reading:
			v = c.stepRead(ev, wk)
		case feeding:
			v = c.stepFeed(wk)
		case writing:
			v = c.stepWrite(ev, wk)
		case lingering:
			v = c.stepLinger(ev, wk)
		default:
			v = c.stepAccept(ev, wk)
		}
		switch v {
		case ended:
			return
		case again:
			if wk.bytes >= visitBytes || wk.feeds >= visitFeeds {
				c.putAside(wk)
				c.l.queue(c)
				return
			}
			ev = 0
			if c.word.Load()&pending != 0 {
				ev = c.take()
				c.note(ev)
			}
		case wait:
			c.putAside(wk)
			c.l.wheel.arm(c, c.due())
			// One that lingers may go as well as one that is idle.
			idle := c.phase == reading && c.idle || c.phase == lingering && !c.Stopping()
			if c.release(idle) {
				// A shutdown that began before it was let go did not see it.
				if !idle || !c.Stopping() || !c.postIdle(evStop) {
					return
				}
				ev = evStop
			} else {
				ev = c.take()
			}
			c.note(ev)
		}
	}
}

// note takes down what lasts of ev.
func (c *eventConn) note(ev uint32) {
	if ev&evUrgent != 0 {
		c.whole = true // reads end at the byte
	}
	if ev&(evIn|evHup|evReset|evStop|evUrgent) != 0 {
		c.drained = false
		if ev&(evHup|evReset) != 0 {
			c.hup = true
		}
	}
}

// work gives the connection the worker's workspace, with its stash.
func (c *eventConn) work(wk *worker) *Work {
	if c.w == nil {
		c.w = wk.take()
		if m := c.more.Load(); m != nil && m.stash != nil {
			c.w.put(m.stash)
			m.stash = nil
		}
	}
	return c.w
}

// putAside gives the workspace back, if it is worth the copy.
func (c *eventConn) putAside(wk *worker) {
	if c.w == nil || len(c.w.Out) > 0 {
		return
	}
	if b := c.w.Unread(); len(b) > maxStash {
		return
	} else if len(b) > 0 {
		c.extra().stash = append([]byte(nil), b...)
	}
	wk.give(c.w)
	c.w = nil
}

// stepRead reads once and feeds the session.
func (c *eventConn) stepRead(ev uint32, wk *worker) verdict {
	if ev&evKill != 0 {
		return c.end(errKilled, wk)
	}
	looked := !c.drained
	if looked {
		w := c.work(wk)
		room := w.room()
		n, err := c.readNow(room)
		if n > 0 {
			w.w += n
			if n == len(room) {
				w.widen() // more may be waiting
			}
			w.Now = clock.Ticks()
			wk.bytes += n
			if !c.served {
				c.served = true
				c.set(isServed)
			}
			return c.feed(w, wk)
		}
		if err != errWouldBlock {
			return c.stall(err, wk)
		}
	}
	switch {
	case c.idle && (ev&evStop != 0 || c.Stopping()):
		if !looked { // a request may have arrived: the peer could not know
			c.drained = false
			return again
		}
		return c.end(nil, wk)
	case ev&evTimeout != 0 && c.overdue():
		return c.stall(os.ErrDeadlineExceeded, wk)
	case c.word.Load()&evInterrupt != 0:
		return c.stall(os.ErrDeadlineExceeded, wk)
	}
	return wait
}

// due returns the deadline of what the connection waits for, 0 for none.
func (c *eventConn) due() clock.Tick { return clock.Tick(c.timer.due.Load()) }

func (c *eventConn) setDue(due clock.Tick) {
	if c.due() != due {
		c.timer.due.Store(int64(due))
	}
}

func (c *eventConn) overdue() bool {
	due := c.due()
	return due != 0 && clock.Ticks() >= due
}

// feed lets the session have what was read.
func (c *eventConn) feed(w *Work, wk *worker) verdict {
	wk.feeds++
	wk.next = Next{}
	c.sess.Feed(w, &wk.next)
	return c.obey(wk)
}

// stepFeed feeds the session, which wanted it.
func (c *eventConn) stepFeed(wk *worker) verdict {
	w := c.work(wk)
	w.Now = clock.Ticks()
	return c.feed(w, wk)
}

// stall tells the session that nothing more comes.
func (c *eventConn) stall(why error, wk *worker) verdict {
	w := c.work(wk)
	w.Now = clock.Ticks()
	wk.next = Next{}
	c.sess.Stall(w, why, &wk.next)
	return c.obey(wk)
}

// obey takes down what the session wants, and begins to write.
func (c *eventConn) obey(wk *worker) verdict {
	if c.detached {
		c.forsake(wk)
		wk.c = nil
		defer c.l.ended(c, nil)
		c.sess.Closed(nil)
		return ended
	}
	next := &wk.next
	c.op, c.idle, c.linger = next.Op, next.Idle, next.Linger
	if next.File != nil {
		c.extra().file = next.File
	}
	if c.op == Read {
		c.setDue(next.Deadline)
		if len(c.w.Out) == 0 {
			c.phase = reading
			return again
		}
	}
	c.phase = writing
	return c.stepWrite(0, wk)
}

// wrote goes on when all output is written.
func (c *eventConn) wrote(wk *worker) verdict {
	switch c.op {
	case Read:
		c.phase = reading
		return again
	case Flush:
		c.phase = feeding
		return again
	case Close:
		return c.closeGracefully(wk)
	case Hijack:
		return c.hijack(wk)
	}
	return c.end(ErrAborted, wk)
}

// end closes the connection and ends its session; err is why.
func (c *eventConn) end(err error, wk *worker) verdict {
	c.forsake(wk)
	if c.over && !c.detached {
		c.more.Load().over.Close() // it may want to say farewell
	}
	c.close()
	wk.c = nil
	defer c.l.ended(c, err) // whatever hooks do
	c.sess.Closed(err)
	return ended
}

// forsake gives everything back that the connection holds beside its
// descriptor.
func (c *eventConn) forsake(wk *worker) {
	if c.w != nil {
		wk.give(c.w)
		c.w = nil
	}
	if m := c.more.Load(); m != nil {
		m.pend, m.stash = nil, nil
		if m.blocked {
			m.blocked = false
			c.l.e.pending.Add(-1)
		}
		if f := m.file; f != nil {
			m.file = nil
			if f.Done != nil {
				f.Done.Close()
			}
		}
	}
	c.l.wheel.remove(c)
}

// close gives the descriptor back.
func (c *eventConn) close() {
	c.LocalAddr() // it can't be asked for afterwards
	c.l.forget(c)
	c.set(isClosed)
	c.mu.Lock()
	fd := c.fd
	c.fd = -1
	c.mu.Unlock()
	if fd >= 0 {
		c.l.sys.close(fd)
	}
}

// kill has the connection closed at once, whatever it does. Any goroutine may
// call it.
func (c *eventConn) kill() {
	c.mu.Lock()
	if c.fd >= 0 {
		c.l.sys.shutdown(c.fd, syscall.SHUT_RDWR)
	}
	c.mu.Unlock()
	if c.post(evKill) {
		c.l.inject(c, evKill)
	}
}

// Stopping reports whether the connection's epoch has ended.
func (c *eventConn) Stopping() bool { return c.epoch != c.l.e.epoch.Load() }

func (c *eventConn) opError(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
}
