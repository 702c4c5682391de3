package engine

import (
	"io"
	"time"
)

// How a connection of Block is woken: Wake sets a deadline that has passed where the
// goroutine waits for bytes, and only there. Reads of Fill, writes, and the deadlines
// of a program are left alone.

// errWoken is how a wait ends that Wake interrupted.
var errWoken error = wokenError{}

type wokenError struct{}

func (wokenError) Error() string { return "engine: woken" }

// Waker returns the Waker of the session, which it makes if there is none. The goroutine
// that runs the session calls it; other goroutines get the Waker from there.
func (c *blockConn) Waker() *Waker {
	if c.waker == nil {
		c.setWaker(&Waker{c: c})
		c.hear()
	}
	return c.waker
}

// wakes reports whether the session must be fed because it was woken.
func (c *blockConn) wakes() bool { return c.waker != nil && c.waker.pending.Load() }

// setWaker sets waker, under Block.mu, since CloseAll and closeIdle look at it there. k isn't
// shared yet, so killed needs no k.mu.
func (c *blockConn) setWaker(k *Waker) {
	c.e.mu.Lock()
	c.waker, k.killed = k, c.killed
	c.e.mu.Unlock()
}

// awaken interrupts the wait for bytes. Wake calls it, on any goroutine, under k.mu:
// finish takes that too, so the deadline that this sets is not set after the wait has
// ended. Where setting it may be a method of a program's own type, which may block, another
// goroutine does that: who calls Wake may hold locks.
func (c *blockConn) awaken(k *Waker) {
	if !k.waits || k.roused {
		return
	}
	k.roused = true
	if k.bell != nil {
		k.ringLocked()
		return
	}
	if c.raw == nil && !c.wasPaced {
		go c.interruptWait(k)
		return
	}
	c.calmly(c.interruptRead)
}

// interruptWait interrupts a wait of k that must end.
func (c *blockConn) interruptWait(k *Waker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.c != nil && k.waits && k.roused {
		c.calmly(c.interruptRead)
	}
}

// maxBlind is how many feeds in a row may begin with no look at what has arrived,
// because the session was woken before it could wait; lookFor is how long the look
// takes where it can't do without waiting.
const (
	maxBlind = 64
	lookFor  = 100 * time.Microsecond
)

// readOrWake is read that ends with errWoken if the session, which has a Waker, was
// woken. Fill is not woken.
func (c *blockConn) readOrWake(idle bool) error {
	k := c.waker
	if c.w != nil && c.w.held {
		return c.read(idle)
	}
	if k.begin() {
		if c.blindFeeds++; c.blindFeeds < maxBlind {
			return errWoken
		}
		c.blindFeeds = 0
		if c.atEnd {
			return errWoken
		}
		return c.readSoon(idle)
	}
	c.blindFeeds = 0
	var err error
	if c.atEnd {
		err = k.await(c.armed.read)
	} else {
		err = c.read(idle)
	}
	if !k.finish() {
		return err
	}
	c.armed.lapsed = true // the deadline that is set is none of ours
	if err != nil && IsTimeout(err) {
		return errWoken
	}
	return err
}

// readSoon reads what has arrived, or arrives in a moment; errWoken if nothing does.
func (c *blockConn) readSoon(idle bool) (err error) {
	if c.raw != nil {
		c.dropDeadline()
		err = c.readOnce()
	} else {
		c.nc.SetReadDeadline(time.Now().Add(lookFor))
		err = c.read(idle)
		c.dropDeadline()
	}
	if err == errWouldBlock || err != nil && IsTimeout(err) {
		return errWoken
	}
	return err
}

// noteEnd is called before the session is told that a read ended with why. A session
// with a Waker that goes on after the end of what its peer sends waits for wake-ups
// alone.
func (c *blockConn) noteEnd(why error) {
	if c.waker != nil && why == io.EOF {
		c.atEnd = true
		c.waker.awaits()
	}
}

// switchTo lets s go on with the connection, whose output is written. See eventConn: what
// belonged to the old session ends before its Closed. No lock is held while Closed and
// Open run.
func (c *blockConn) switchTo(s Session) {
	old := c.sess
	c.waker.end()
	c.endWatch()
	c.SetWriteTimeout(0, 0)
	c.SetWriteDeadline(0)
	c.atEnd, c.next = false, Next{}
	c.e.mu.Lock()
	c.waker, c.sess, c.unopened = nil, s, true
	c.e.mu.Unlock()
	old.Closed(ErrSwitched)
	c.unopened = false
	s.Open(c, &c.next)
	if c.next.Op == Read && c.anyUnread() {
		c.feed()
	}
}

// endWatch ends a watch that still runs.
func (c *blockConn) endWatch() {
	c.watchMu.Lock()
	wt := c.watch
	c.watch = nil
	c.watchMu.Unlock()
	if wt != nil {
		wt.pause()
	}
}

// anyUnread reports whether bytes were read that no session has consumed. One that a
// watch has read is put after the others.
func (c *blockConn) anyUnread() bool {
	if c.nAhead > 0 {
		c.takeAhead()
	}
	return c.w != nil && len(c.w.Unread()) > 0 || len(c.stash) > 0
}

// closed tells the session that it has ended, unless it never began.
func (c *blockConn) closed(err error) {
	c.waker.end()
	if !c.unopened {
		c.sess.Closed(err)
	}
}
