package engine

import "io"

// How a connection of Event is woken, and goes on with another session. The owner calls
// these functions, except awaken and hear.

// Waker returns the Waker of the session. The first call makes it. Only the goroutine
// that runs the session may call this; it can pass the Waker to other goroutines.
func (c *eventConn) Waker() *Waker {
	p := c.more.makePart()
	if p.waker == nil {
		c.UseWaker(new(Waker))
	}
	return p.waker
}

// UseWaker makes k, which is new, the Waker of the session.
func (c *eventConn) UseWaker(k *Waker) {
	k.c = c
	c.more.makePart().waker = k
	c.set(hasWaker)
	c.hear()
}

// hear wakes the session if it has a Waker and the connection's epoch drains or has
// ended. The owner may call it, and any goroutine that found c under loop.mu, without
// locks. If the connection switches to another session at this moment, that one may be
// fed instead: see note.
func (c *eventConn) hear() {
	if c.word.Load()&hasWaker != 0 && c.Stopping() && c.post(evWake) {
		c.l.inject(c, evWake)
	}
}

// awaken makes a worker feed the session. Wake calls it, on any goroutine, under k.mu.
// While k.c is set, the connection hasn't ended.
func (c *eventConn) awaken(*Waker) {
	if c.post(evWake) {
		c.l.inject(c, evWake)
	}
}

// toldEnd reports whether err is the peer's end of stream, of which the session was
// already told. The session has gone on, and waits for wake-ups only.
func (c *eventConn) toldEnd(err error) bool {
	if err != io.EOF || c.rare&atEnd == 0 {
		return false
	}
	c.drained = true
	return true
}

// switchTo makes s the session of the connection. The output of the old session has been
// written. What belonged to the old session ends before its Closed is called: its Waker,
// watch, deadlines and write timeouts. Bytes that it has not consumed stay in the
// workspace or the stash. unopened is true while Closed of the old session runs: if that
// panics, Closed of the new one isn't called. drained becomes false, so that the new
// session reads once without an edge: the old one may already have been told of the end.
func (c *eventConn) switchTo(s Session, wk *worker) verdict {
	wk.feeds++
	old, p := c.sess, c.more.makePart()
	p.waker.end()
	c.unset(evWake | hasWaker) // of the old session, whose Waker posts nothing any more
	c.endWatch()
	c.reclaim()
	c.SetWriteTimeout(0, 0)
	c.SetWriteDeadline(0)
	c.setDue(0)
	p.waker, p.next = nil, nil
	c.rare = c.rare&^atEnd | unopened
	c.woken = false
	c.lookAgain()
	c.l.mu.Lock() // each looks at sess
	c.sess = s
	c.l.mu.Unlock()
	old.Closed(ErrSwitched)
	c.rare &^= unopened
	wk.next = Next{}
	s.Open(c, &wk.next)
	if wk.next.Op == Read && c.anyUnread() {
		wk.next.Op = Flush // there is nothing to write
	}
	c.begin(&wk.next)
	return again
}

// begin records what the session wants after Open, for the next step or visit. It doesn't
// read or write: Start calls it on a goroutine that isn't a worker.
func (c *eventConn) begin(next *Next) {
	c.want(next)
	switch c.wants.op {
	case Read:
		c.setDue(next.Deadline)
		c.phase = reading
	case Flush:
		c.phase = feeding
	default:
		c.phase = writing
	}
}

// anyUnread reports whether there are bytes that were read and that no session has
// consumed.
func (c *eventConn) anyUnread() bool {
	return c.w != nil && len(c.w.Unread()) > 0 || len(c.stashed()) > 0
}

// stashed returns the unread bytes that are kept while there is no workspace. The owner
// calls it.
func (c *eventConn) stashed() []byte {
	if m := c.more.Load(); m != nil {
		return m.stash
	}
	return nil
}

// endWatch ends a watch that still runs, and waits for its gone.
func (c *eventConn) endWatch() {
	m := c.more.Load()
	if m == nil {
		return
	}
	if wt := m.watch.Swap(nil); wt != nil {
		c.unset(isWatched)
		wt.stop()
	}
}

// closed ends the Waker and calls Closed of the session, unless its Open was never
// called. No lock is held.
func (c *eventConn) closed(err error) {
	c.more.waker().end()
	if c.rare&unopened != 0 {
		return
	}
	c.sess.Closed(err)
}
