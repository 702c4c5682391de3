package gale

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
)

// sharedWires are the wires of a HostClient that many calls share. Each has a place of the pool, like
// the others. connPool.mu guards the fields after first.
type sharedWires struct {
	first atomic.Pointer[wire] // where calls look first, or nil

	all     []wire
	line    waiterList // calls that wait for room on one
	dialing bool       // a call is dialing; others wait for the result
	turn    int        // to use the addresses of the host in turns
	addrs   int        // how many addresses the host has, 0 if that isn't known yet
}

// readyWire returns the shared wire that calls use first, if it has room and no call waits, or nil.
func (c *HostClient) readyWire() wire {
	first := c.pool.shared.first.Load()
	if first == nil || c.callsWait() {
		return nil
	}
	w := *first
	switch {
	case w.room() <= 0:
		return nil
	case c.isOld(w):
		w.retire()
		return nil
	}
	return w
}

// setFirst makes w the wire where calls look first.
func (x *sharedWires) setFirst(w wire) {
	if first := x.first.Load(); first == nil || *first != w {
		boxed := w
		x.first.Store(&boxed)
	}
}

// remove removes w from the list, and reports whether it was there. The caller holds the pool's lock.
func (x *sharedWires) remove(w wire) bool {
	if first := x.first.Load(); first != nil && *first == w {
		x.first.Store(nil)
	}
	i := slices.Index(x.all, w)
	if i < 0 {
		return false
	}
	x.all = slices.Delete(x.all, i, i+1)
	return true
}

// findShared finds room for a call on a shared wire, if the host may have any. While a call is
// dialing, others that find no room wait for the result. The caller holds the pool's lock.
func (c *HostClient) findShared() (got room, ok bool) {
	p, x := &c.pool, &c.pool.shared
	if !c.mayShare() {
		return room{kind: roomOther}, true
	}
	if w := x.choose(c); w != nil {
		w.take(p)
		return room{kind: roomShared, w: w}, true
	}
	switch {
	case x.dialing:
		return room{}, false
	case p.open < c.maxConns():
		p.open++
	case !p.yieldPlace(): // which isn't counted again
		return room{}, false
	}
	x.dialing = true
	return room{kind: roomLead}, true
}

// choose returns a wire with room: the first one, so that those that aren't needed
// become idle. If the host has several addresses, it takes them in turns, and returns nil as
// long as there are fewer wires. The caller holds the pool's lock.
func (x *sharedWires) choose(c *HostClient) wire {
	if x.addrs == 0 {
		x.addrs = c.addrs.count(c.Addr)
	}
	n := len(x.all)
	if x.addrs > 1 && n < x.addrs && !x.dialing && c.pool.open < c.maxConns() {
		return nil
	}
	from := 0
	if x.addrs > 1 && n > 0 {
		x.turn++
		from = x.turn % n
	}
	for i := range n {
		w := x.all[(from+i)%n]
		if w.room() <= 0 {
			continue
		}
		if c.isOld(w) {
			w.retire()
			continue
		}
		if x.addrs <= 1 {
			x.setFirst(w)
		}
		return w
	}
	return nil
}

// waitsForDial reports whether those who wait in line wait for the end of a dial, not for
// room. The caller holds the pool's lock.
func (x *sharedWires) waitsForDial(line *waiterList) bool { return x.dialing && line == &x.line }

// passOn is called when a call has used the room that it had on a shared wire, or won't use
// it. It does nothing if it had none.
func (c *HostClient) passOn(k *call) {
	if k.promised != nil {
		got := room{kind: roomShared, w: k.promised.(wire)}
		k.promised = nil
		c.returnRoom(got)
	}
}

// dialForAll is dialReserved for which other calls wait. It gives them room, or its error. If k
// can't use the wire, the others can.
func (c *HostClient) dialForAll(k *call) (wire, error) {
	w, err := c.dialFirst(k)
	if err != nil {
		return nil, err
	}
	if k.mustShare() && !isShared(w) {
		c.release(w)
		return nil, errMustShare
	}
	return w, nil
}

func (c *HostClient) dialFirst(k *call) (w wire, err error) {
	err = errNoConn // in case the user's function ends the goroutine
	defer func() {
		c.dialedForAll(k, err)
	}()
	return c.dialReserved(k)
}

// dialedForAll ends the dial that others wait for. err is why there is no connection, unless the
// reason is not the host's.
func (c *HostClient) dialedForAll(k *call, err error) {
	p, x := &c.pool, &c.pool.shared
	shared := false // the error is that of the others, too
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		x.dialing = false
		defer c.serveAfterDial()
		for shared && x.line.n > 0 {
			c.serve(x.line.first, noRoom(err))
		}
	}()
	shared = err != nil && !errors.Is(err, ErrTimeout) && k.mustEnd() == nil // without the lock: it may be user code
}

// serveAfterDial is serveLines after the dial that the line has waited for. For the calls that
// stay there, MaxConnWaitTimeout begins. The caller holds the pool's lock.
func (c *HostClient) serveAfterDial() {
	x := &c.pool.shared
	c.serveLines()
	if x.dialing {
		return
	}
	if c.MaxConnWaitTimeout <= 0 {
		for x.line.n > 0 {
			c.serve(x.line.first, noRoom(ErrNoFreeConns))
		}
	}
	now := clock.Ticks()
	for w := x.line.last; w != nil && w.since == 0; w = w.prev { // those that came during the dial
		w.since = now
	}
}

// share makes w, whose place is reserved, one of the shared wires. If k isn't nil, room on it is
// k's. The caller holds the pool's lock, also while it makes w, which therefore hasn't ended yet.
func (c *HostClient) share(k *call, w wire) {
	p, x := &c.pool, &c.pool.shared
	if k != nil {
		w.take(p)
		p.waiting.Add(1)
		k.promised = w
	}
	x.all = append(x.all, w)
	if x.first.Load() == nil && c.addrs.count(c.Addr) == 1 {
		x.setFirst(w)
	}
	for waiter := p.line.first; waiter != nil; {
		next := waiter.next
		if waiter.any {
			c.serve(waiter, room{kind: roomOther})
		}
		waiter = next
	}
	c.serveLines()
}

// yieldPlace ends a shared wire that no call uses, so that its place can be used for a wire of a
// call's own, and reports whether there was one. The caller holds the pool's lock, and has the place
// then.
func (x *sharedWires) yieldPlace() bool {
	for _, w := range x.all {
		if w.running() == 0 && w.yield() {
			return x.remove(w)
		}
	}
	return false
}

// unshare gives back the place of a shared wire that has ended, unless it was yielded.
func (c *HostClient) unshare(w wire) {
	reuses := reusesOf(w)
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Reuses += reuses
	p.lastUse = clock.Ticks()
	if p.shared.remove(w) {
		p.open--
		c.serveLines()
	}
}

// count adds what x has to s, and returns how many calls are running. The caller holds the
// pool's lock.
func (x *sharedWires) count(s *PoolStats) (running int) {
	for _, w := range x.all {
		n := w.running()
		if running += n; n == 0 {
			s.Idle++
		}
	}
	s.Waiting += x.line.n
	return running
}
