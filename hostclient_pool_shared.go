package gale

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
)

// sharedConns are the connections of a HostClient that many calls share: those of HTTP/2. Each has
// a place of the pool, like the other connections. connPool.mu guards the fields after first.
type sharedConns struct {
	first atomic.Pointer[sharedConn] // where calls look first, or nil

	all     []*sharedConn
	line    waiterList // calls that wait for a stream
	dialing bool       // a call is dialing; others wait for the result
	turn    int        // to use the addresses of the host in turns
	addrs   int        // how many addresses the host has, 0 if that isn't known yet
}

// readyConn returns the connection of HTTP/2 that calls use first, if it has room and no call
// waits, or nil.
func (c *HostClient) readyConn() *sharedConn {
	hc := c.pool.shared.first.Load()
	switch {
	case hc == nil, c.pool.waiting.Load() > 0, hc.room.Load() <= 0:
		return nil
	case c.isOld(hc.cc):
		hc.retire()
		return nil
	}
	return hc
}

// findShared finds room for a call that needs HTTP/2, unless the host speaks HTTP/1.1.
// While a call is dialing, others that find no stream wait for the result. The caller holds
// the pool's lock.
func (c *HostClient) findShared() (got room, ok bool) {
	p, x := &c.pool, &c.pool.shared
	if c.speaks() == protoHTTP1 {
		return room{kind: roomOther}, true
	}
	if hc := x.choose(c); hc != nil {
		hc.promised++
		return room{w: hc}, true
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

// choose returns a connection with room: the first one, so that those that aren't needed
// become idle. If the host has several addresses, it takes them in turns, and returns nil as
// long as there are fewer connections. The caller holds the pool's lock.
func (x *sharedConns) choose(c *HostClient) *sharedConn {
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
		h := x.all[(from+i)%n]
		if int(h.room.Load()) <= h.promised {
			continue
		}
		if c.isOld(h.cc) {
			h.dismiss()
			continue
		}
		if x.addrs <= 1 {
			x.first.Store(h)
		}
		return h
	}
	return nil
}

// waitsForDial reports whether those who wait in line wait for the end of a dial, not for
// room. The caller holds the pool's lock.
func (x *sharedConns) waitsForDial(line *waiterList) bool { return x.dialing && line == &x.line }

// passOn is called when a call has opened the stream that was promised to it, or won't open
// it. It does nothing if none was.
func (c *HostClient) passOn(k *call) {
	if k.promised != nil {
		got := room{w: k.promised.(wire)}
		k.promised = nil
		c.returnRoom(got)
	}
}

// dialForAll is dialReserved for which other calls wait. It gives them room, or its error. If k
// can't use the connection, because that is of HTTP/1.1, the others can.
func (c *HostClient) dialForAll(k *call) (wire, error) {
	w, err := c.dialFirst(k)
	if cc, own := w.(*clientConn); own && k.needsHTTP2() {
		c.release(cc)
		return nil, door.ErrHTTP1
	}
	return w, err
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

// adoptShared makes cc, whose place is reserved, one of the connections of HTTP/2. If k isn't nil, a
// stream is promised to it.
func (c *HostClient) adoptShared(k *call, cc *clientConn) *sharedConn {
	hc := c.newSharedConn(cc)
	p, x := &c.pool, &c.pool.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	c.h2.proto.Store(uint32(protoHTTP2))
	if k != nil {
		hc.promised++
		p.waiting.Add(1)
		k.promised = hc
	}
	if hc.ended.Load() { // it isn't in the list, so forgetShared leaves the place to this call
		p.open--
	} else {
		x.all = append(x.all, hc)
		if c.addrs.count(c.Addr) == 1 {
			x.first.CompareAndSwap(nil, hc)
		}
	}
	for w := p.line.first; w != nil; {
		next := w.next
		if w.any {
			c.serve(w, room{kind: roomOther})
		}
		w = next
	}
	c.serveLines()
	return hc
}

// yieldPlace ends an idle connection, so that its place can be used for one of HTTP/1.1, and
// reports whether there was one. The caller holds the pool's lock, and has the place then.
func (x *sharedConns) yieldPlace() bool {
	for i, hc := range x.all {
		if hc.active.Load() == 0 && hc.promised == 0 && hc.dismissIdle() {
			x.all = slices.Delete(x.all, i, i+1)
			x.first.CompareAndSwap(hc, nil)
			return true
		}
	}
	return false
}

// forgetShared gives back the place of a connection that has ended, unless it was yielded, or ended
// before adoptShared.
func (c *HostClient) forgetShared(hc *sharedConn) {
	reuses := hc.reuses()
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Reuses += reuses
	p.lastUse = clock.Ticks()
	c.pool.shared.first.CompareAndSwap(hc, nil)
	i := slices.Index(c.pool.shared.all, hc)
	if i < 0 {
		return
	}
	c.pool.shared.all = slices.Delete(c.pool.shared.all, i, i+1)
	p.open--
	c.serveLines()
}

// retireIdle closes the idle connections of HTTP/2.
func (c *HostClient) retireIdle() {
	c.pool.mu.Lock()
	all := slices.Clone(c.pool.shared.all)
	c.pool.mu.Unlock()
	for _, hc := range all {
		hc.dismissIdle()
	}
}

// count adds what x has to s, and returns how many calls are running. The caller holds the
// pool's lock.
func (x *sharedConns) count(s *PoolStats) (running int) {
	for _, hc := range x.all {
		n := int(hc.active.Load())
		if running += n; n == 0 {
			s.Idle++
		}
	}
	s.Waiting += x.line.n
	return running
}
