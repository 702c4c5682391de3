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
// where a comment says otherwise. It is also a net.Conn, see event_net.go.
//
// There is one owner at a time. The first is the goroutine that accepted the connection,
// until Start releases it; then it is a worker for each visit. A connection in loop.turns
// has no goroutine, but isOwned is set: the worker that pops it becomes its owner. Each
// change of owner is an atomic change of word or happens under loop.mu, so an owner sees
// what the last one wrote.
type eventConn struct {
	// Any goroutine may use word, by the functions of event_word.go.
	word atomic.Uint32
	// fd is -1 once the connection is closed. Only the owner writes it, under mu. The
	// owner reads it without a lock, other goroutines read it under mu.
	fd   int32
	slot uint32 // in loop.slots; set by loop.adopt
	// epoch and sess are written under loop.mu, since loop.each lets other goroutines
	// find the connection. The owner reads them without it.
	epoch uint32

	l    *loop
	sess Session
	from *acceptor
	link *eventConn // the next one in loop.turns; under loop.mu
	w    *Work      // set during a visit, and after it if putAside can't give it back
	// more is set once, by extra, and never changes after that. Any goroutine may load
	// it.
	more moreLink

	timer wheelLink // see there

	// Invariants of the fields up to addr, whenever no method of the session runs:
	//
	//	woken                      => more.part().waker != nil: feed relies on it
	//	layered                    => more.top != nil
	//	drained, without layered   => the last read got EAGAIN, or less than its room
	//	more.dry                   => layered, and the same holds for the socket
	//	detached                   => fd == -1: obey ends the session, and nothing else
	//	phase == feeding           => wants.op == Flush
	//	phase == lingering         => wants.op == Close, and more.lingerEnd != 0
	phase   phase
	layered bool // there is a connection on top of this one, connMore.top
	wants   wants
	woken   bool // evWake has come, and no Feed has begun since
	// drained says that there is nothing more to read. The next edge tells of more. With
	// layered, the connection on top may hold bytes although the socket has none: then
	// connMore.dry says it of the socket alone.
	drained bool
	// hup says that the peer has ended its side. No later edge tells of the end, so from
	// then on a short read doesn't set drained: the read after it must find the end.
	hup bool
	// whole says that only EAGAIN sets drained, since a short read doesn't mean that
	// nothing more is there. That holds on UNIX sockets, and after a byte out of band has
	// come. On other streams a short read means the same as EAGAIN (epoll(7)).
	whole  bool
	rare   rareState // bits, since the size of a connection matters
	served bool      // the owner's copy of isServed
	opened uint32    // when it began, in seconds of clock.Tick
	addr   rawAddr   // of the peer

	writeTimeout time.Duration

	// mu guards fd and connMore.fdUse. It is held only for short system calls
	// (getsockname, shutdown), and no other lock is taken under it.
	mu sync.Mutex
}

// wants is what the session wants: its last Next, without the fields that only few
// connections need. op is done when all output is written. idle has a meaning only for
// Read, linger for Close, reset for Abort. Only the owner uses it.
type wants struct {
	op                  Op
	idle, linger, reset bool
}

// rareState says what is true of few connections.
type rareState uint8

const (
	detached rareState = 1 << iota // it has left the engine, see Detach
	atEnd                          // sess, which has a Waker, was told that no more bytes come; see stall
	unopened                       // Open of sess has yet to be called, see switchTo
)

// phase is what a connection does. It says which step function the next visit calls.
type phase uint8

const (
	reading   phase = iota // waits for bytes
	feeding                // calls the session without waiting
	writing                // writes, waiting for room, then does op
	lingering              // has ended its side and discards what comes
)

// seconds is the unit of eventConn.opened.
const seconds = clock.Tick(time.Second)

// isNew reports whether the connection began at most age ago and has sent nothing: its
// first request may be on its way. Any goroutine may call it, under loop.mu: Start sets
// opened under that lock.
func (c *eventConn) isNew(now clock.Tick, age time.Duration) bool {
	return c.word.Load()&isServed == 0 && now-clock.Tick(c.opened)*seconds <= clock.Tick(age)
}

// verdict is the result of a step of a visit.
type verdict uint8

const (
	again verdict = iota // there is more to do
	wait                 // until something is posted
	ended                // the connection has ended, or another goroutine has it
)

// A visit ends after visitBytes bytes read or visitFeeds calls of the session. The
// connection then waits in loop.turns until other connections have had their turn.
const (
	visitBytes = 64 << 10
	visitFeeds = 32
)

// visit does what can be done for c after the events ev. The caller owns c. visit runs
// the session, and with it handlers. No lock is held.
//
// When visit returns, the caller doesn't own c any more: c has ended, waits in
// loop.turns, or was released or lost. Another worker may be visiting it.
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
			// A connection that lingers counts as idle, so EvictIdle may close it. It
			// does not once the engine stops: lingerStop limits its remaining time.
			idle := c.phase == reading && c.wants.idle || c.phase == lingering && !c.over()
			if c.release(idle) {
				// Stop increments the epoch before it looks for idle connections. If it
				// looked before this release, over sees the new epoch.
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

// note records the bits of ev that must persist beyond the step that gets them. The owner
// calls it with every result of take and await. evIn, evHup and evReset are edges
// (epoll(7)): they come once, so drained must stay false until a read has got EAGAIN.
func (c *eventConn) note(ev uint32) {
	if ev&evWake != 0 && c.word.Load()&hasWaker != 0 {
		c.woken = true
	}
	if ev&evUrgent != 0 {
		c.whole = true // a read ends before that byte, although there is more to read after it
	}
	if ev&(evIn|evHup|evReset|evStop|evUrgent) != 0 {
		c.lookAgain()
		if ev&(evHup|evReset) != 0 {
			c.hup = true
		}
	}
}

// looks reports whether the next read asks the socket. A connection on top is read although
// the socket is dry.
func (c *eventConn) looks() bool {
	return !c.drained && !(c.layered && c.more.Load().dry)
}

// lookAgain makes the next read ask the socket, although it may have nothing.
func (c *eventConn) lookAgain() {
	c.drained = false
	if c.layered {
		c.more.Load().dry = false
	}
}

// work gives the connection the workspace of wk, and puts the stash into it. Only the
// owner may call it, in a visit of the worker wk. The connection keeps the Work until
// putAside or forsake gives it to the worker of the visit at that time, which may be
// another one.
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
// than maxStash bytes are unread. Slices that Unread returned aren't valid after it.
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

// stepRead reads once and feeds the session. Bytes that have arrived come before
// everything except evKill: they are served even if a deadline has passed, the engine
// stops or the session was woken. If the session was woken, the same Feed serves the
// wake-up.
func (c *eventConn) stepRead(ev uint32, wk *worker) verdict {
	if ev&evKill != 0 {
		return c.end(net.ErrClosed, wk)
	}
	looked := c.looks()
	if !c.drained {
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
			if !c.served { // one atomic operation for each connection, not for each read
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
		// A request may have arrived without its edge, or a wake-up since the last take:
		// look again.
		c.woken = c.more.waker().wakes()
		if !looked || c.woken || c.word.Load()&evWake != 0 {
			c.lookAgain()
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
// belongs to the engine until the session is called again, see forgetInto.
func (c *eventConn) ReadInto(b []byte) { c.extra().into = b }

// into returns the buffer that ReadInto got for the next read, nil if there is none. Only
// the owner calls it.
func (c *eventConn) into() []byte {
	if m := c.more.Load(); m != nil {
		return m.into
	}
	return nil
}

// forgetInto is called before each Feed and Stall: the buffer that ReadInto got belongs
// to the session again.
func (c *eventConn) forgetInto() {
	if m := c.more.Load(); m != nil && m.into != nil {
		m.into = nil
	}
}

// due returns the deadline of what the connection waits for, 0 for none. That is a read,
// room to write while blocked, or the end of lingering.
func (c *eventConn) due() clock.Tick { return clock.Tick(c.timer.due.Load()) }

// setDue stores the deadline. It doesn't touch the wheel: visit arms that before it
// releases the connection, once for all changes of a visit.
func (c *eventConn) setDue(due clock.Tick) {
	if c.due() != due {
		c.timer.due.Store(int64(due))
	}
}

// overdue reports whether due has passed. evTimeout alone doesn't mean that: the owner
// may have moved due after the wheel saw it.
func (c *eventConn) overdue() bool {
	due := c.due()
	return due != 0 && clock.Ticks() >= due
}

// feed calls Feed and then does what the session wants. It clears the wake-up before the
// call, so a Wake that comes while Feed runs leads to another Feed. w is c.w.
func (c *eventConn) feed(w *Work, wk *worker) verdict {
	wk.feeds++
	wk.next = Next{}
	c.forgetInto()
	if c.woken {
		c.woken = false
		c.more.part().waker.fed()
	}
	c.sess.Feed(w, &wk.next)
	if wk.sharer.state != keeps && !c.settle(wk) {
		return ended
	}
	return c.obey(wk)
}

// workNow is work for calls of the session without a read. It sets Work.Now.
func (c *eventConn) workNow(wk *worker) *Work {
	w := c.work(wk)
	w.Now = clock.Ticks()
	return w
}

// stepFeed feeds the session, which asked for that by Flush.
func (c *eventConn) stepFeed(wk *worker) verdict { return c.feed(c.workNow(wk), wk) }

// stall tells the session that a read ended without bytes. A session that has a Waker may
// go on after io.EOF: it can still send what other goroutines produce, on a half-closed
// connection (RFC 9293 section 3.6.1). atEnd makes sure that it is told of the end only
// once.
func (c *eventConn) stall(why error, wk *worker) verdict {
	w := c.workNow(wk)
	if why == io.EOF && c.more.waker() != nil {
		c.rare |= atEnd
	}
	wk.next = Next{}
	c.forgetInto()
	c.sess.Stall(w, why, &wk.next)
	if wk.sharer.state != keeps && !c.settle(wk) {
		return ended
	}
	return c.obey(wk)
}

// want records what the session wants. next belongs to the worker, and is not kept.
func (c *eventConn) want(next *Next) {
	c.wants = wants{next.Op, next.Idle, next.Linger, next.Reset}
	if next.File != nil {
		c.extra().unsent.file = next.File
	}
	if next.Session != nil {
		c.more.makePart().next = next.Session
	}
}

// obey records what the session wants, and begins to write. It is called after Feed and
// Stall, with wk.next as they left it. After Detach it ignores wk.next and ends the
// session.
func (c *eventConn) obey(wk *worker) verdict {
	if c.rare&detached != 0 {
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

// wrote goes on when all output is written, including pend and file. After Read and Flush
// the message has ended for the program, and so do its deadlines: reclaim.
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
		return c.switchTo(c.more.part().next, wk)
	}
	return c.end(ErrAborted, wk)
}

// end closes the connection and ends its session because of err. Only the owner may call
// it, once, with no lock held: Closed and Ended are user code.
//
// If wants.reset is true, the socket is closed with SO_LINGER 0, which sends RST (RFC
// 9293 section 3.5.3), and TLS sends no closure alert. Otherwise TLS tries to send
// close_notify (RFC 8446 section 6.1).
func (c *eventConn) end(err error, wk *worker) verdict {
	c.forsake(wk)
	switch {
	case c.rare&detached != 0:
	case c.wants.reset:
		c.l.sys.setLinger(c.fd, 0)
	case c.layered:
		c.more.Load().top.Close() // TLS sends its closure alert
	}
	c.close()
	wk.c = nil         // if Closed panics, worker.ended must not end it again
	defer c.ended(err) // even if Closed panics
	c.closed(err)
	return ended
}

// forsake gives up everything that the connection holds, except its descriptor: the
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

// close closes the descriptor. The owner calls it. The order matters: first it frees the
// slot, so that no event finds the connection; then isClosed makes each post a no-op;
// then it sets fd to -1 for other goroutines. While a call of control runs, the system
// must not reuse the descriptor's number. So the last such call closes it.
func (c *eventConn) close() {
	c.LocalAddr() // remembers the address, which the system can't tell after this
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

// kill makes the owner close the connection at once, in any state; the session gets
// net.ErrClosed. Any goroutine may call it, without loop.mu. The shutdown lets the peer see
// the end even while a handler that never waits for the connection keeps the owner busy.
// evKill is posted before it: see failed.
func (c *eventConn) kill() {
	mine := c.post(evKill)
	c.mu.Lock()
	if c.fd >= 0 {
		c.l.sys.shutdown(c.fd, syscall.SHUT_RDWR)
	}
	c.mu.Unlock()
	if mine {
		c.l.inject(c, evKill)
	}
}

// failed returns the error for err, with which the socket has failed: after kill the socket
// only tells of its shutdown.
func (c *eventConn) failed(err error) error {
	if c.word.Load()&evKill != 0 {
		return net.ErrClosed
	}
	return err
}

// Stopping reports whether the connection's epoch drains or has ended. The owner may call
// it and over. So may other goroutines that found the connection under loop.mu.
func (c *eventConn) Stopping() bool { return c.epoch != c.l.e.epoch.Load() }

// over reports whether the connection's epoch has ended.
func (c *eventConn) over() bool { return c.Stopping() && c.epoch != c.l.e.epoch.number() }

// opError returns the error that package net would return for errno and op, see failed. The
// owner calls it.
func (c *eventConn) opError(op string, errno syscall.Errno) error {
	return c.failed(&net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)})
}
