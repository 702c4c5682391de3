package engine

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// eventConn is a connection of Event. Its owner (event_word.go) owns every field, except
// where a comment says otherwise. It is a net.Conn too, see event_net.go.
//
// Owners follow each other: the goroutine that accepted the connection, until Start lets
// it go; then a worker for each visit. A connection in loop.turns has no goroutine, but
// isOwned is set: the worker that pops it becomes its owner. Each hand-over is an atomic
// change of word or happens under loop.mu, so an owner sees what the last one wrote.
type eventConn struct {
	// Any goroutine may use word, by the functions of event_word.go.
	word atomic.Uint32
	// fd is -1 once the connection is closed. The owner alone writes it, under mu; the
	// owner reads it without a lock, other goroutines under mu.
	fd   int32
	slot uint32 // in loop.slots; set by loop.adopt
	// epoch and sess are written under loop.mu, since loop.each lets other goroutines
	// find the connection. The owner reads them without it.
	epoch uint32

	l    *loop
	sess Session
	from *acceptor
	link *eventConn // the next one in loop.turns; under loop.mu
	w    *Work      // while it is visited, or while its bytes don't fit a stash
	// more is set once, by extra, and never unset. Any goroutine may load it.
	more atomic.Pointer[connMore]

	timer wheelLink // see there

	// Invariants of the fields up to addr, whenever no method of the session runs:
	//
	//	woken                      => more.waker != nil: feed relies on it
	//	layered                    => whole, and more.top != nil
	//	drained, without layered   => the last read got EAGAIN, or less than its room
	//	detached                   => fd == -1: obey ends the session, and nothing else
	//	phase == feeding           => wants.op == Flush
	//	phase == lingering         => wants.op == Close, and more.lingerEnd != 0
	phase   phase
	layered bool // there is a connection on top of this one: connMore.top
	wants   wants
	woken   bool // evWake has come, and no Feed since
	// drained: the socket has been read to its end; the next edge tells of more.
	drained bool
	// hup: the peer has ended its side. After that edge no other tells of the end, so a
	// short read doesn't set drained: the read after it must find the end.
	hup bool
	// whole: only EAGAIN sets drained, since a short read doesn't mean that nothing more
	// is there: on UNIX sockets, below TLS, and once a byte out of band has come. For
	// other streams epoll(7) lets a short read stand for EAGAIN.
	whole bool
	// detached: it has left the engine, see Detach.
	detached bool
	served   bool    // the owner's copy of isServed
	opened   uint32  // when it began, in seconds of clock.Tick
	addr     rawAddr // of the peer

	writeTimeout time.Duration

	// mu guards fd, connMore.fdUse. It is held for short system calls
	// only (getsockname, shutdown), and no other lock is taken under it.
	mu sync.Mutex
}

// wants is what the session wants: its last Next, without what few connections need. op is
// for when all output is written. idle means something only for Read, linger for Close,
// reset for Abort. The owner alone uses it.
type wants struct {
	op                  Op
	idle, linger, reset bool
}

// phase is what a connection does. It says which step function the next visit calls.
type phase uint8

const (
	reading   phase = iota // waits for bytes
	feeding                // calls the session without waiting
	writing                // waits for room, then does op
	lingering              // has ended its side and discards what comes
)

// seconds is the unit of eventConn.opened.
const seconds = clock.Tick(time.Second)

// isNew reports whether the connection began less than age ago, and has sent nothing: its
// first request may be on its way. It is called under loop.mu, by any goroutine: Start
// sets opened under that lock.
func (c *eventConn) isNew(now clock.Tick, age time.Duration) bool {
	return c.word.Load()&isServed == 0 && now-clock.Tick(c.opened)*seconds <= clock.Tick(age)
}

// verdict is how a step of a visit ended.
type verdict uint8

const (
	again verdict = iota // there is more to do
	wait                 // until something is posted
	ended                // the connection is over, or another goroutine has it
)

// A visit ends after so many bytes read or so many calls of the session. The connection
// then waits in loop.turns until other connections have had their turn.
const (
	visitBytes = 64 << 10
	visitFeeds = 32
)

// visit does what can be done for c, which the caller owns, after ev. It runs the
// session, and with it handlers. No lock is held.
//
// When it returns, the caller doesn't own c any more: c has ended, or waits in
// loop.turns, or was released or lost. Then another worker may be visiting it.
func (c *eventConn) visit(ev uint32, wk *worker) {
	if c.word.Load()&isTaken != 0 {
		ev |= c.tookOver()
	}
	if c.w != nil {
		c.w.by = wk
	}
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
			// A connection that lingers counts as idle: EvictIdle may close it. Once
			// the engine stops it doesn't: lingerStop bounds what is left of it.
			idle := c.phase == reading && c.wants.idle || c.phase == lingering && !c.over()
			if c.release(idle) {
				// Stop increments the epoch before it looks for idle connections. If it
				// looked before the release, this sees the new epoch.
				if !idle || !c.over() || !c.claimIdle() {
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

// note records those bits of ev that outlive the step that gets them. The owner calls it
// for all that take or await returned. evIn, evHup and evReset are edges (epoll(7)): they
// come once, so drained must remember them until a read has got EAGAIN.
func (c *eventConn) note(ev uint32) {
	if ev&evWake != 0 && c.word.Load()&hasWaker != 0 {
		c.woken = true
	}
	if ev&evUrgent != 0 {
		c.whole = true // a read ends before that byte, with more to read after it
	}
	if ev&(evIn|evHup|evReset|evStop|evUrgent) != 0 {
		c.drained = false
		if ev&(evHup|evReset) != 0 {
			c.hup = true
		}
	}
}

// work gives the connection the worker's workspace, with its stash. Only its owner may
// call it, in a visit: wk is the worker that runs. The Work stays the connection's until
// putAside or forsake gives it back to the worker of that visit, maybe another one.
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

// putAside gives the workspace back before a wait, unless output is left in it or more
// than maxStash bytes are unread. What Unread returned isn't valid after it.
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

// stepRead reads once and feeds the session. A read that finds something comes before
// all but evKill: bytes that have arrived are served although a deadline has passed, the
// engine stops or the session was woken. One Feed then tells of both.
func (c *eventConn) stepRead(ev uint32, wk *worker) verdict {
	if ev&evKill != 0 {
		return c.end(net.ErrClosed, wk)
	}
	looked := !c.drained
	if looked {
		w, room := c.work(wk), c.into()
		elsewhere := len(room) > 0 && w.empty()
		if !elsewhere {
			room = w.room()
		}
		n, err := c.readNow(room)
		if n > 0 {
			w.took(n, len(room), elsewhere)
			w.Now = clock.Ticks()
			wk.bytes += n
			if !c.served { // one atomic operation a connection, not one a read
				c.served = true
				c.set(isServed)
			}
			return c.feed(w, wk)
		}
		if err != errWouldBlock && !c.toldEnd(err) {
			return c.stall(err, wk)
		}
	}
	switch {
	case c.woken:
		return c.feed(c.workNow(wk), wk)
	case c.wants.idle && (ev&evStop != 0 || c.over()):
		if !looked { // a request may be there: its edge need not have come yet
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

// ReadInto sets where the next read goes. The owner calls it, in Open, Feed or Stall. b
// is the engine's until the session is called again: forgetInto.
func (c *eventConn) ReadInto(b []byte) { c.extra().into = b }

// into returns what ReadInto got for the next read, nil for none. It is the owner's.
func (c *eventConn) into() []byte {
	if m := c.more.Load(); m != nil {
		return m.into
	}
	return nil
}

// forgetInto is called before each Feed and Stall: what ReadInto got is the session's
// again.
func (c *eventConn) forgetInto() {
	if m := c.more.Load(); m != nil && m.into != nil {
		m.into = nil
	}
}

// due returns the deadline of what the connection waits for, 0 for none: of a read, of
// room to write while blocked, or of lingering.
func (c *eventConn) due() clock.Tick { return clock.Tick(c.timer.due.Load()) }

// setDue stores the deadline, and leaves the wheel alone: visit arms that before it lets
// the connection go, once for all changes of a visit.
func (c *eventConn) setDue(due clock.Tick) {
	if c.due() != due {
		c.timer.due.Store(int64(due))
	}
}

// overdue reports whether due has passed. evTimeout alone doesn't mean that: the wheel
// may have seen a due that the owner has moved since.
func (c *eventConn) overdue() bool {
	due := c.due()
	return due != 0 && clock.Ticks() >= due
}

// feed calls Feed and does what it wants. The wake-up is taken back before the call, so a
// Wake that comes while Feed runs leads to another Feed. w is c.w.
func (c *eventConn) feed(w *Work, wk *worker) verdict {
	wk.feeds++
	wk.next = Next{}
	c.forgetInto()
	if c.woken {
		c.woken = false
		c.more.Load().waker.fed()
	}
	c.sess.Feed(w, &wk.next)
	if wk.sharer.state != keeps && !c.settle(wk) {
		return ended
	}
	return c.obey(wk)
}

// workNow is work for sessions that are called although nothing was read.
func (c *eventConn) workNow(wk *worker) *Work {
	w := c.work(wk)
	w.Now = clock.Ticks()
	return w
}

// stepFeed feeds the session, which wanted it.
func (c *eventConn) stepFeed(wk *worker) verdict { return c.feed(c.workNow(wk), wk) }

// stall tells the session that a read ended without bytes. A session that has a Waker may
// go on after io.EOF: it still sends what other goroutines have for it, on a half-closed
// connection (RFC 9293 section 3.6.1). atEnd keeps it from being told twice.
func (c *eventConn) stall(why error, wk *worker) verdict {
	w := c.workNow(wk)
	if m := c.more.Load(); why == io.EOF && m != nil && m.waker != nil {
		m.atEnd = true
	}
	wk.next = Next{}
	c.forgetInto()
	c.sess.Stall(w, why, &wk.next)
	if wk.sharer.state != keeps && !c.settle(wk) {
		return ended
	}
	return c.obey(wk)
}

// want records what the session wants. next is the worker's, and is not kept.
func (c *eventConn) want(next *Next) {
	c.wants = wants{next.Op, next.Idle, next.Linger, next.Reset}
	if next.File != nil {
		c.extra().unsent.file = next.File
	}
	if next.Session != nil {
		c.extra().next = next.Session
	}
}

// obey records what the session wants, and begins to write. It is called after Feed and
// Stall, with wk.next as they left it. After Detach it counts for nothing.
func (c *eventConn) obey(wk *worker) verdict {
	if c.detached {
		c.forsake(wk)
		wk.c = nil
		defer c.ended(nil)
		c.closed(nil)
		return ended
	}
	next := &wk.next
	c.want(next)
	if c.wants.op == Read {
		c.setDue(next.Deadline)
		if len(c.w.Out) == 0 {
			c.reclaim()
			c.phase = reading
			return again
		}
	}
	c.phase = writing
	return c.stepWrite(0, wk)
}

// wrote goes on when all output is written, pend and file too. Where the message ends for
// the program (Read and Flush), its deadlines end: reclaim.
func (c *eventConn) wrote(wk *worker) verdict {
	switch c.wants.op {
	case Read:
		c.reclaim()
		c.phase = reading
		return again
	case Flush:
		c.reclaim()
		c.phase = feeding
		return again
	case Close:
		return c.closeGracefully(wk)
	case Hijack:
		return c.hijack(wk)
	case Switch:
		return c.switchTo(c.more.Load().next, wk)
	}
	return c.end(ErrAborted, wk)
}

// end closes the connection and ends its session; err is why. Only the owner may call
// it, once, with no lock held: Closed and Ended are user code.
//
// With reset the socket is closed with SO_LINGER 0, which sends RST (RFC 9293 section
// 3.5.3), and TLS sends no closure alert. Without it TLS
// sends close_notify (RFC 8446 section 6.1), as far as there is room.
func (c *eventConn) end(err error, wk *worker) verdict {
	c.forsake(wk)
	switch {
	case c.detached:
	case c.wants.reset:
		c.l.sys.setLinger(c.fd, 0)
	case c.layered:
		c.more.Load().top.Close() // TLS sends its closure alert
	}
	c.close()
	wk.c = nil         // if Closed panics, worker.ended must not end it again
	defer c.ended(err) // whatever hooks do
	c.closed(err)
	return ended
}

// forsake gives back everything that the connection holds, except its descriptor: the
// workspace, output that was not written, the file, its place in the wheel. The owner
// calls it once, before the connection ends or leaves the engine.
func (c *eventConn) forsake(wk *worker) {
	if c.w != nil {
		wk.give(c.w)
		c.w = nil
	}
	if m := c.more.Load(); m != nil {
		m.unsent.pend, m.stash = nil, nil
		if m.unsent.blocked {
			m.unsent.blocked = false
			c.l.e.pending.Add(-1)
		}
		if f := m.unsent.file; f != nil {
			m.unsent.file = nil
			if f.Done != nil {
				f.Done.Close()
			}
		}
	}
	c.l.wheel.remove(c)
}

// close gives the descriptor back. The owner calls it. The order matters: the slot is
// free first, so that no event finds the connection; then isClosed makes each post a
// no-op; then fd is -1 for other goroutines. While a call of control runs, the number
// must not become another connection's: the last such call closes it.
func (c *eventConn) close() {
	c.LocalAddr() // it can't be asked for afterwards
	c.l.forget(c)
	c.set(isClosed)
	c.mu.Lock()
	fd := c.fd
	c.fd = -1
	if m := c.more.Load(); m != nil && m.fdUse.users > 0 && fd >= 0 {
		m.fdUse.closes, m.fdUse.toClose = true, fd
		fd = -1
	}
	c.mu.Unlock()
	if fd >= 0 {
		c.l.sys.close(fd)
	}
}

// kill makes the owner close the connection at once, whatever it does; the session gets
// net.ErrClosed. Any goroutine may call it, without loop.mu. The shutdown comes first: the peer sees the end even while a
// handler that never waits for the connection keeps the owner busy.
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

// Stopping reports whether the connection's epoch drains or has ended. The owner may call
// it and over, and others after they found the connection under loop.mu.
func (c *eventConn) Stopping() bool { return c.epoch != c.l.e.epoch.Load() }

// over reports whether the connection's epoch has ended.
func (c *eventConn) over() bool { return c.Stopping() && c.epoch != c.l.e.epoch.number() }

// opError makes of errno the error that package net returns for op. The owner calls it.
func (c *eventConn) opError(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
}
