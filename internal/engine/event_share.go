package engine

import (
	"slices"

	"github.com/galehttp/gale/internal/clock"
)

// A connection that is shared has no owner. Its next owner is either the worker whose
// call of the session shares it, which takes it back (regain), or another worker, which
// takes it over (claimOffered). The call finds out which one when it calls Unshare.
// Sharing and taking back cost two atomic operations. The workspace stays with the
// connection and belongs to its owner.
//
// Bits that are posted to a shared connection wait for the next owner. If there are any,
// or the session says that there is more to do, the connection is offered to other
// workers: it is put into loop.offers. It stays there until a worker takes it or the
// visit ends, so it is put there at most once in a visit. In a calm loop, workers don't
// look at offers until the guard finds that the connection has been there for a whole
// period.

// Share lets another worker take the connection over. It changes c as obey does for Read,
// or for Flush if there is more. No event will tell of bytes that the last read left in
// the socket, so the connection is offered for them too.
func (c *eventConn) Share(w *Work, more bool, due clock.Tick) *Sharer {
	wk, m := w.by, c.extra()
	c.wants = wants{op: Read}
	c.phase = reading
	if more {
		c.wants.op, c.phase = Flush, feeding
	}
	if len(w.Out) > 0 {
		c.phase, more = writing, true
	}
	wk.feeds++ // so that a visit doesn't run too many handlers
	wk.shared = c
	s := &wk.sharer
	s.state, s.turn = shares, m.takeovers.Load()
	c.setDue(due)
	c.l.wheel.arm(c, due)
	if c.share(more || !c.drained) && !m.offered.Load() {
		c.l.makeOffer(c)
	}
	return s
}

// Unshare takes the connection back. If visits are measured, it measures each handler by
// itself.
func (c *eventConn) Unshare(s *Sharer) (w *Work, ok bool) {
	wk := s.wk
	if !c.regain(wk) {
		return nil, false
	}
	if wk.began != 0 {
		now := clock.Ticks()
		if now-wk.began >= clock.Tick(blocked) {
			c.l.took(now, wk.began)
		}
		wk.began = now
	}
	return c.w, true
}

// regain makes wk, whose call of the session has shared c, the owner again. It returns
// false if another worker has taken c over.
func (c *eventConn) regain(wk *worker) bool {
	s := &wk.sharer
	if s.state != shares {
		return s.state == keeps
	}
	s.state = lost
	return c.more.Load().takeovers.Load() == s.turn && c.unshare() && c.confirm(s)
}

// confirm is called after unshare, by the worker that is now the owner. Another worker
// may have taken c over just before, and shared it again: then unshare took it from that
// worker, which the word doesn't show. takeovers shows it, and only the owner changes
// that. In this case c goes to the next worker, as if that had taken it over.
func (c *eventConn) confirm(s *Sharer) bool {
	if c.more.Load().takeovers.Load() == s.turn {
		s.state = keeps
		return true
	}
	c.set(isTaken)
	c.l.inject(c, evTurn)
	return false
}

// PassOn gives the connection to the worker that visits it next. The caller's worker
// doesn't count as running any more. So another worker can bring what its handler waits
// for, even if MaxRunning is small. That also holds if another worker has already taken the
// connection over.
func (c *eventConn) PassOn(s *Sharer) {
	wk := s.wk
	mine := c.regain(wk)
	if mine {
		s.state = lost
		c.more.Load().takeovers.Add(1)
	}
	l := c.l
	l.mu.Lock()
	l.idles(wk)
	l.passed++
	wk.shared, wk.passed = c, true // for idles, when the visit is over
	missed := l.polling && l.turns.len() > 0
	l.mu.Unlock()
	if missed { // running was at its bound
		l.sys.wake()
	}
	if mine && (c.phase != reading || !c.drained || !c.release(false)) {
		l.inject(c, evTurn)
	}
	l.blocks()
}

// tookOver begins a visit of a connection that was taken over from another worker. The
// call of the session on that worker is now lost. tookOver returns what was posted to the
// connection before.
func (c *eventConn) tookOver() (ev uint32) {
	c.more.Load().takeovers.Add(1)
	c.unset(isTaken)
	return c.take()
}

// settle is called after a call of the session has returned and wk.sharer.state is not
// keeps. It returns true if the worker owns the connection: a session must not return
// before Unshare, and if it does, settle takes the connection back.
func (c *eventConn) settle(wk *worker) bool {
	if c.regain(wk) {
		return true
	}
	wk.sharer.state = keeps // for the next visit
	wk.c = nil              // if Ended panics, worker.ended must do nothing with c
	c.back()
	return false
}

// back counts a call of the session that has lost the connection and returned. If the
// connection has ended and this was the last such call, it calls loop.ended.
func (c *eventConn) back() {
	if m := c.more.Load(); m.returned.Add(1) == 0 {
		c.l.ended(c, m.why)
	}
}

// ended is called after the session was closed because of err. It calls loop.ended, or
// leaves that to back if calls of the session that lost the connection still run.
func (c *eventConn) ended(err error) {
	if m := c.more.Load(); m != nil {
		if n := m.takeovers.Load(); n != 0 {
			m.why = err
			if m.returned.Add(-int64(n)) != 0 {
				return
			}
		}
	}
	c.l.ended(c, err)
}

// makeOffer puts c, which is shared, into offers, and makes sure that another worker will
// look there: at once, or in a calm loop after the guard has found it. Any goroutine may
// call it, without mu, after isOffered was set.
func (l *loop) makeOffer(c *eventConn) {
	l.mu.Lock()
	l.listOffer(c)
	var other *worker
	if l.offered() && l.running < l.maxRunning {
		other = l.standby()
	}
	l.mu.Unlock()
	other.start()
}

// listOffer puts c into offers, under mu. It doesn't start a worker. c may have an owner
// by now, which took it without looking at offers.
func (l *loop) listOffer(c *eventConn) {
	m := c.more.Load()
	if m.offered.Load() || c.word.Load()&isOffered == 0 {
		return
	}
	m.offered.Store(true)
	m.offeredAt = l.calm.looks
	l.offers = append(l.offers, c)
	if l.calm.far || !l.calm.guarded.Load() {
		l.calm.set(l, guardAfter)
	}
}

// offered reports, under mu, whether workers should look at offers now.
func (l *loop) offered() bool { return len(l.offers) > 0 && !l.calm.is.Load() }

// takeOffer returns the first connection of offers that is still offered, or nil. The
// caller then owns it. It is called under mu. No offer is missed: a goroutine that sets
// isOffered looks at connMore.offered after that and lists the connection if offered is
// false. So either that goroutine sees offered false, or claimOffered sees isOffered.
func (l *loop) takeOffer() *eventConn {
	for len(l.offers) > 0 {
		c := l.offers[0]
		l.offers = slices.Delete(l.offers, 0, 1)
		c.more.Load().offered.Store(false)
		if c.claimOffered() {
			return c
		}
	}
	return nil
}

// dropOffer takes c out of offers, under mu, after a visit that has shared it. If c is
// offered again by now, it is put back at the end.
func (l *loop) dropOffer(c *eventConn) {
	m := c.more.Load()
	if !m.offered.Load() {
		return
	}
	i := slices.Index(l.offers, c)
	l.offers = slices.Delete(l.offers, i, i+1)
	m.offered.Store(false)
	l.listOffer(c) // for the reason given at takeOffer
}
