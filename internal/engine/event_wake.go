package engine

import "io"

// How a connection of Event is woken, and goes on with another session. The owner calls
// these functions, except awaken.

// Waker returns the Waker of the session, which it makes if there is none. The goroutine
// that runs the session calls it; other goroutines get the Waker from there.
func (c *eventConn) Waker() *Waker {
	m := c.extra()
	if m.waker == nil {
		m.waker = &Waker{c: c}
		c.set(hasWaker)
		c.hear()
	}
	return m.waker
}

// hear wakes the session if it has a Waker and the connection must end soon. Any
// goroutine may call it that found c under loop.mu, without locks. A session that is
// switched to at this moment may be fed once in place of the old one: see note.
func (c *eventConn) hear() {
	if c.word.Load()&hasWaker != 0 && c.Stopping() && c.post(evWake) {
		c.l.inject(c, evWake)
	}
}

// awaken makes a worker feed the session. Wake calls it, on any goroutine, under k.mu:
// while k.c is set the connection hasn't ended.
func (c *eventConn) awaken(*Waker) {
	if c.post(evWake) {
		c.l.inject(c, evWake)
	}
}

// toldEnd reports whether err is the end of what the peer sends, and the session was
// told of it and goes on: it waits for wake-ups alone.
func (c *eventConn) toldEnd(err error) bool {
	if m := c.more.Load(); err != io.EOF || m == nil || !m.atEnd {
		return false
	}
	c.drained = true
	return true
}

// switchTo lets s go on with the connection, whose output is written. What belonged to
// the old session ends before its Closed: its Waker, watch, deadlines and write bounds.
// Bytes that it has not consumed stay in the workspace or the stash. unopened, between
// Closed of the old and Open of the new one, keeps a panic in Closed from reaching the
// new one. drained is false, so that the new session reads once without an edge: the old
// one may have been told of the end already.
func (c *eventConn) switchTo(s Session, wk *worker) verdict {
	wk.feeds++
	old, m := c.sess, c.extra()
	m.waker.end()
	c.unset(evWake | hasWaker) // those of the old session, which posts no more
	c.endWatch(m)
	c.reclaim()
	c.SetWriteTimeout(0, 0)
	c.SetWriteDeadline(0)
	c.setDue(0)
	m.waker, m.next, m.atEnd, m.unopened = nil, nil, false, true
	c.woken, c.drained = false, false
	c.l.mu.Lock() // each looks at sess
	c.sess = s
	c.l.mu.Unlock()
	old.Closed(ErrSwitched)
	m.unopened = false
	wk.next = Next{}
	s.Open(c, &wk.next)
	if wk.next.Op == Read && c.anyUnread() {
		wk.next.Op = Flush // there is nothing to write
	}
	c.begin(&wk.next)
	return again
}

// begin records what the session wants after Open, for a visit to do. Nothing is written
// or read here: Start calls it on a goroutine that isn't a worker's.
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

// anyUnread reports whether bytes were read that no session has consumed.
func (c *eventConn) anyUnread() bool {
	return c.w != nil && len(c.w.Unread()) > 0 || len(c.more.Load().stash) > 0
}

// endWatch ends a watch that still runs, and waits for its gone.
func (c *eventConn) endWatch(m *connMore) {
	if wt := m.watch.Swap(nil); wt != nil {
		c.unset(isWatched)
		wt.stop()
	}
}

// closed tells the session that it has ended, unless it was never opened. Its Waker ends
// before. Without locks.
func (c *eventConn) closed(err error) {
	if m := c.more.Load(); m != nil {
		m.waker.end()
		if m.unopened {
			return
		}
	}
	c.sess.Closed(err)
}
