package engine

import (
	"io"
	"time"
)

// How a connection of Block is woken: Wake sets a deadline in the past, but only while
// the goroutine waits for bytes outside Fill. It doesn't affect reads of Fill, writes and
// the deadlines of a program.

// errWoken is the result of a wait that Wake interrupted.
var errWoken error = wokenError{}

type wokenError struct{}

func (wokenError) Error() string { return "engine: woken" }

// Waker returns the Waker of the session. The first call makes it. Only the goroutine
// that runs the session may call this; it can pass the Waker to other goroutines.
func (c *blockConn) Waker() *Waker {
	if c.waker == nil {
		c.UseWaker(new(Waker))
	}
	return c.waker
}

// UseWaker makes k, which is new, the Waker of the session.
func (c *blockConn) UseWaker(k *Waker) {
	k.c = c
	c.setWaker(k)
	c.hear()
}

// wakes reports whether a wake-up is pending, so that the session must be fed.
func (c *blockConn) wakes() bool { return c.waker.wakes() }

// setWaker sets waker, under Block.mu, since CloseAll and closeIdle read it under that
// lock. No other goroutine knows k yet, so setting k.killed needs no k.mu.
func (c *blockConn) setWaker(k *Waker) {
	c.e.mu.Lock()
	c.waker, k.killed = k, c.killed.Load()
	c.e.mu.Unlock()
}

// awaken interrupts the wait for bytes. Wake calls it, on any goroutine, under k.mu.
// finish takes k.mu too, so this never sets its deadline after the wait has ended. If
// SetReadDeadline may belong to a type of the program, it may block or call the server, and
// the caller of Wake may hold locks. Then another goroutine calls it, without locks.
func (c *blockConn) awaken(k *Waker) {
	if !k.waits || k.roused {
		return
	}
	k.roused = true
	if k.bell != nil {
		k.ringLocked()
		return
	}
	if c.foreign() {
		go c.interruptWait(k)
		return
	}
	c.calmly(c.interruptRead)
}

// foreign reports whether the methods of the connection may be the program's.
func (c *blockConn) foreign() bool { return c.raw == nil && !c.wasPaced }

// interruptWait interrupts the wait of k, if it still waits and was woken. It claims the
// connection, see busy, so that readOrWake waits for it.
func (c *blockConn) interruptWait(k *Waker) {
	k.mu.Lock()
	claimed := k.c != nil && k.waits && k.roused && c.rousing.TryLock()
	k.mu.Unlock()
	if !claimed {
		return
	}
	defer c.rousing.Unlock()
	c.calmly(c.interruptRead)
}

// maxBlind limits how many feeds in a row begin without a look at what has arrived,
// because the session was woken before it could wait. lookFor is how long that look waits
// on connections that can't be read without waiting.
const (
	maxBlind = 64
	lookFor  = 100 * time.Microsecond
)

// readOrWake is read for a session with a Waker. It returns errWoken if the session was
// woken. A wake-up doesn't end a Fill.
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
	if c.foreign() {
		c.rousing.Lock() // when interruptWait has returned
		defer c.rousing.Unlock()
	}
	c.armed.lapsed = true // the deadline that is set now is from Wake
	if err != nil && IsTimeout(err) {
		return errWoken
	}
	return err
}

// readSoon reads what has arrived or arrives within lookFor. It returns errWoken if
// nothing does.
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

// noteEnd is called before the session is told that a read ended with why. A session with
// a Waker may go on after its peer's end of stream. It then waits for wake-ups only.
func (c *blockConn) noteEnd(why error) {
	if c.waker != nil && why == io.EOF {
		c.atEnd = true
		c.waker.awaits()
	}
}

// switchTo makes s the session of the connection. The output of the old session has been
// written. As on Event, what belonged to the old session ends before its Closed is
// called. No lock is held while Closed and Open run.
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

// anyUnread reports whether there are bytes that were read and that no session has
// consumed. It puts a byte that a watch has read after the others.
func (c *blockConn) anyUnread() bool {
	if c.nAhead > 0 {
		c.takeAhead()
	}
	return c.w != nil && len(c.w.Unread()) > 0 || len(c.stash) > 0
}

// closed calls Closed of the session, unless its Open was never called.
func (c *blockConn) closed(err error) {
	c.waker.end()
	if !c.unopened {
		c.sess.Closed(err)
	}
}
