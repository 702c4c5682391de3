package gale

import (
	"errors"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// upgradeSession is the session of a connection whose protocol a handler has switched. It
// has the same memory as the UpgradedConn that the program gets, so that a connection needs
// one object. It is never used again, since programs may keep the UpgradedConn.
type upgradeSession UpgradedConn

var _ serverSession = (*upgradeSession)(nil)

// newUpgradeSession returns the session for h.
func newUpgradeSession(h UpgradeHandler) *upgradeSession { return &upgradeSession{h: h} }

func (u *upgradeSession) conn() *serverConn { return &u.sc }

func (u *upgradeSession) staysCounted() bool { return false }

// free does nothing: the program may keep the UpgradedConn.
func (u *upgradeSession) free() {}

// Open begins the session. It asks to be fed at once, for Opened. The Waker is made first:
// with it, the engine feeds the session when it begins to drain or stops.
func (u *upgradeSession) Open(c engine.Conn, next *engine.Next) {
	u.sc.begin(c)
	c.UseWaker(&u.waker)
	u.sc.s.stats.upgraded.Add(1)
	next.Op = engine.Flush
}

// Feed calls Opened the first time, and Received. After Opened it calls Received only if
// there is a reason.
func (u *upgradeSession) Feed(w *engine.Work, next *engine.Next) {
	fine := false
	defer func() {
		if !fine {
			u.panicked(recover(), next)
		}
	}()
	u.enter(w)
	c, called := (*UpgradedConn)(u), true
	if !u.begun {
		u.begun = true
		u.h.Opened(c)
		called = u.goesOn(w) && (len(w.Unread()) > 0 || c.Stopping())
	}
	if called {
		in := w.Unread()
		n := u.h.Received(c, in)
		if n < 0 || n > len(in) {
			panic(errConsumed)
		}
		w.Consume(n)
		if len(in) >= upgradeMuch && w.Full() {
			w.ExpectMuch() // more is waiting, and each read is a system call
		}
	}
	u.obey(w, next)
	fine = true
}

// upgradeMuch is the length of input from which on the read buffer becomes as large as it
// may be, if a read has filled it.
const upgradeMuch = 12 << 10

var errConsumed = errors.New("gale: Received of an UpgradeHandler consumed more bytes than it got")

// Stall calls Stalled.
func (u *upgradeSession) Stall(w *engine.Work, why error, next *engine.Next) {
	fine := false
	defer func() {
		if !fine {
			u.panicked(recover(), next)
		}
	}()
	u.enter(w)
	c := (*UpgradedConn)(u)
	if !u.begun {
		u.begun = true
		u.h.Opened(c)
	}
	u.h.Stalled(c, why)
	if u.ends == upgradeGoesOn && why != io.EOF && !engine.IsTimeout(why) {
		c.broke(why)
	}
	u.obey(w, next)
	fine = true
}

// enter begins a call of the handler.
func (u *upgradeSession) enter(w *engine.Work) {
	if u.sc.l.fixed.faults {
		debug.SetPanicOnFault(true) // for good: the goroutine is one of an engine
	}
	u.w, u.landed = w, uint32(w.Landed())
}

// goesOn reports whether the handler may get more input before its output is written.
func (u *upgradeSession) goesOn(w *engine.Work) bool {
	return u.ends == upgradeGoesOn && !u.left && len(w.Out) <= OutLimit
}

// obey ends a call of the handler.
func (u *upgradeSession) obey(w *engine.Work, next *engine.Next) {
	u.w = nil
	switch {
	case u.ends == upgradeAborts || u.killed.Load():
		next.Op, next.Reset = engine.Abort, true
	case u.ends == upgradeCloses:
		next.Op, next.Linger = engine.Close, true
	case u.left || len(w.Out) > OutLimit:
		next.Op = engine.Flush
	case u.timeout > 0:
		next.Deadline = u.callEnded(w).Add((*UpgradedConn)(u).wait())
	}
	u.left = false
}

// callEnded returns when the call of the handler ended, which is now. For a long timeout the
// time of the last read is near enough, if the call took less than a second. That saves a
// look at the clock, which would be the second one for each message.
func (u *upgradeSession) callEnded(w *engine.Work) clock.Tick {
	if (*UpgradedConn)(u).wait() >= 10*time.Second && clock.Coarse() <= w.Now {
		return w.Now
	}
	return clock.Ticks()
}

// panicked ends the connection after a panic of the handler with value r, or after
// runtime.Goexit; then r is nil, and the engine closes the connection.
func (u *upgradeSession) panicked(r any, next *engine.Next) {
	u.w = nil
	if r == nil {
		return
	}
	if (*UpgradedConn)(u).panicked(r) {
		next.Op, next.Linger = engine.Close, true
		return
	}
	next.Op, next.Reset = engine.Abort, true
}

// panicked ends the connection after a panic of the handler with value r. It reports
// whether the output is written first, because Close was called before.
func (c *UpgradedConn) panicked(r any) (closes bool) {
	closes = c.ends == upgradeCloses
	c.broke(c.logPanic(r))
	if closes {
		c.ends = upgradeCloses
	}
	return closes
}

// logPanic logs a panic of the handler and returns the error for Closed.
func (c *UpgradedConn) logPanic(r any) error {
	trace := stack()
	c.sc.s.logPanic("in an UpgradeHandler", r, trace)
	return &PanicError{Value: r, Stack: trace}
}

// Hijacked is never called.
func (u *upgradeSession) Hijacked(net.Conn) {}

// Panicked logs a panic of a method of the connection on a goroutine of the engine.
func (u *upgradeSession) Panicked(r any) { u.sc.Panicked(r) }

// Closed ends the session. It tells the handler, if that knows of the connection.
func (u *upgradeSession) Closed(err error) {
	c := (*UpgradedConn)(u)
	u.sc.s.stats.upgraded.Add(-1)
	defer u.sc.setState(StateClosed)
	c.end(err)
}

// end calls Closed of the handler. From now on Kill does nothing. err is what the engine or
// the pump tells.
func (c *UpgradedConn) end(err error) {
	c.mu.Lock()
	c.over = true
	if c.cause != nil {
		err = *c.cause
		c.sc.fault(err)
	}
	c.mu.Unlock()
	if err == engine.ErrAborted {
		err = nil // Abort was called
	}
	if !c.begun {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.logPanic(r)
		}
	}()
	if l := c.sc.l; l != nil && l.fixed.faults { // there may be no Server
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	c.h.Closed(c, err)
}
