package gale

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// PoolStats describes the connections of a client: their number now, and counters
// since the client's first request. A connection that many requests share counts as one.
type PoolStats struct {
	Open    int // connections, idle, in use or being made
	Idle    int // idle connections
	Waiting int // requests that wait for a connection

	Dials      uint64 // dials
	DialErrors uint64 // dials that failed
	Reuses     uint64 // requests that got a connection that had been used before
	Waits      uint64 // requests that had to wait
	Dead       uint64 // idle connections that the server had closed, or had sent something on
	Expired    uint64 // idle connections that were closed after MaxIdleConnDuration
}

// PoolStats returns the state of the client's connections.
func (c *HostClient) PoolStats() PoolStats {
	p := &c.pool
	p.mu.Lock()
	s := p.stats
	s.Open, s.Idle, s.Waiting = p.open, p.idle.n, p.line.n
	p.shared.count(&s)
	all := slices.Clone(p.shared.all)
	p.mu.Unlock()
	for _, w := range all {
		s.Reuses += reusesOf(w)
	}
	return s
}

// reusesOf returns how many requests w has carried after the first one.
func reusesOf(w wire) uint64 { return uint64(max(w.uses()-1, 0)) }

// connPool holds the wires of a HostClient, each of which has a place. A call has some alone: they
// are here while no call has them, in the order in which they became idle. The others are shared.
// If calls wait, room that there is goes to the first of them at once, and so does the right to make
// a connection.
type connPool struct {
	mu    sync.Mutex
	idle  wireRing
	open  int        // wires of both kinds, idle, in use or being made
	line  waiterList // calls that wait for a wire of their own
	stats PoolStats

	shared  sharedWires
	waiting atomic.Int32 // calls that wait, in both lines, or have room on a shared wire that they haven't used yet

	sweeper *time.Timer // closes old idle connections
	armed   bool        // the sweeper runs
	// now is the time of the sweeper's last run. It is used as the time of a
	// connection's last use, because reading the clock takes longer than everything
	// else that is done with a connection here.
	now     clock.Tick
	lastUse clock.Tick // when a request ended
	bufs    spareBufs
}

// wireRing is a queue of wires that can be taken from both ends.
type wireRing struct {
	wires []wire // its length is a power of two
	head  int
	n     int
}

func (r *wireRing) push(w wire) {
	if r.n == len(r.wires) {
		grown := make([]wire, max(8, 2*r.n))
		for i := range r.n {
			grown[i] = r.at(i)
		}
		r.wires, r.head = grown, 0
	}
	r.wires[(r.head+r.n)&(len(r.wires)-1)] = w
	r.n++
}

func (r *wireRing) at(i int) wire { return r.wires[(r.head+i)&(len(r.wires)-1)] }

func (r *wireRing) popFront() wire {
	w := r.wires[r.head]
	r.wires[r.head] = nil
	r.head = (r.head + 1) & (len(r.wires) - 1)
	r.n--
	return w
}

func (r *wireRing) popBack() wire {
	i := (r.head + r.n - 1) & (len(r.wires) - 1)
	w := r.wires[i]
	r.wires[i] = nil
	r.n--
	return w
}

// acquire returns a wire that can carry a request of k: one that the call has alone, which is an idle
// one that is still good, a new one, or the next that becomes free; or a shared one, which has room,
// at least a moment ago, or for sure if it is k.promised.
func (c *HostClient) acquire(k *call) (wire, error) {
	for {
		line := &c.pool.line
		if k.mayShare() && c.mayShare() {
			if w := c.readyWire(); w != nil {
				return w, nil
			}
			line = &c.pool.shared.line
		} else if k.mustShare() {
			return nil, errMustShare
		}
		got, waiter := c.reserve(k, line)
		if waiter != nil {
			got = c.await(k, waiter)
		}
		switch got.kind {
		case roomAlone:
			if waiter == nil && k.detects(got.w) || got.w.room() > 0 {
				return got.w, nil
			}
			return c.replace(k, got.w)
		case roomShared:
			k.promised = got.w
			return got.w, nil
		case roomNone:
			return nil, got.err
		case roomLead:
			return c.dialForAll(k)
		case roomDial:
			return c.dialReserved(k)
		}
	}
}

// replace ends w, which is dead, and returns another wire in its place. The place stays reserved, so
// no other call can take it meanwhile.
func (c *HostClient) replace(k *call, w wire) (wire, error) {
	for {
		next := c.endDead(w)
		if next == nil {
			return c.dialReserved(k)
		}
		w = next
		if w.room() > 0 {
			return w, nil
		}
	}
}

// endDead ends a dead wire. It returns an idle one, or nil if there is none and the place of the dead
// one stays reserved.
func (c *HostClient) endDead(w wire) (next wire) {
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	w.yield()
	p.stats.Dead++
	if p.idle.n == 0 {
		return nil
	}
	next = p.idle.popFront()
	next.take(p)
	p.open-- // because next has a place of its own
	c.serveLines()
	return next
}

// reserve returns room for k, or a place in line.
func (c *HostClient) reserve(k *call, line *waiterList) (got room, w *connWaiter) {
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if line == &p.line && p.idle.n > 0 {
		if w := c.popIdle(); w != nil {
			return room{w: w}, nil
		}
	}
	p.waiting.Add(1) // before it looks for room, so that a call that ends meanwhile sees it
	found := false
	if line.isTurnOf(k) {
		got, found = c.find(line)
	}
	switch {
	case found:
	case line == &p.line && k.mayShare() && c.mayShare(): // as of a moment ago
		got.kind = roomOther
	case c.MaxConnWaitTimeout <= 0 && !p.shared.waitsForDial(line):
		got = noRoom(ErrNoFreeConns)
	default:
		return room{}, c.wait(k, line)
	}
	if got.kind != roomShared {
		p.waiting.Add(-1)
	}
	return got, nil
}

// find looks for room for a call of a line. The caller holds the lock, and counts the call in
// connPool.waiting as long as it has room on a shared wire.
func (c *HostClient) find(line *waiterList) (got room, ok bool) {
	if line == &c.pool.line {
		return c.findAlone()
	}
	return c.findShared()
}

// findAlone finds room for a call that needs a wire alone. The caller holds the lock.
func (c *HostClient) findAlone() (got room, ok bool) {
	p := &c.pool
	switch {
	case p.idle.n > 0:
		if w := c.popIdle(); w != nil {
			return room{w: w}, true
		}
		return noRoom(ErrConnPoolStrategyNotImpl), true
	case p.open < c.maxConns():
		p.open++
		return room{kind: roomDial}, true
	case p.shared.yieldPlace(): // which isn't counted again
		return room{kind: roomDial}, true
	}
	return room{}, false
}

// popIdle takes an idle wire. The result is nil if ConnPoolStrategy has no valid value. The
// caller holds the lock.
func (c *HostClient) popIdle() (w wire) {
	p := &c.pool
	switch c.ConnPoolStrategy {
	case FIFO:
		w = p.idle.popFront()
	case LIFO:
		w = p.idle.popBack()
	default:
		return nil
	}
	p.stats.Reuses++
	w.take(p)
	return w
}

// yieldPlace ends an idle wire, so that its place can be used for a shared one, and reports whether
// there was one. The caller holds the lock, and has the place then.
func (p *connPool) yieldPlace() bool { return p.idle.n > 0 && p.idle.popFront().yield() }

// countExpired counts a wire that was idle for too long.
func (c *HostClient) countExpired() { c.pool.count(&c.pool.stats.Expired) }

func (p *connPool) count(n *uint64) {
	p.mu.Lock()
	*n++
	p.mu.Unlock()
}

// release gives back a wire that the call had alone, and that can be used again.
func (c *HostClient) release(w wire) {
	p := &c.pool
	p.mu.Lock()
	if p.open > c.maxConns() {
		p.mu.Unlock()
		w.retire()
		return
	}
	if !p.armed {
		p.now = clock.Ticks()
		c.arm()
	}
	p.lastUse = p.now
	w.giveBack(p)
	p.idle.push(w)
	if p.waiting.Load() > 0 {
		c.serveLines()
	}
	p.mu.Unlock()
}

// touch records that a request ended without giving back its connection.
func (c *HostClient) touch() {
	c.pool.mu.Lock()
	c.pool.lastUse = clock.Ticks()
	c.pool.mu.Unlock()
}

// retireAll retires wires, even if the end of one ends the goroutine.
func retireAll(all []wire) {
	if len(all) > 0 {
		defer retireAll(all[1:])
		all[0].retire()
	}
}

// unreserve gives back the place of a connection.
func (c *HostClient) unreserve() {
	p := &c.pool
	p.mu.Lock()
	p.open--
	c.serveLines()
	p.mu.Unlock()
}

// isOld reports whether a connection was used for MaxConnDuration.
func (c *HostClient) isOld(w wire) bool {
	return c.MaxConnDuration > 0 && w.age() > c.MaxConnDuration
}

func (c *HostClient) maxIdle() time.Duration {
	if c.MaxIdleConnDuration <= 0 {
		return DefaultMaxIdleConnDuration
	}
	return c.MaxIdleConnDuration
}

// sweepPeriod is how often the sweeper runs.
func (c *HostClient) sweepPeriod() time.Duration { return max(c.maxIdle()/8, time.Millisecond) }

// arm makes the sweeper run again. The caller holds the lock.
func (c *HostClient) arm() {
	p, d := &c.pool, c.sweepPeriod()
	p.armed = true
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(d, c.sweep)
		return
	}
	p.sweeper.Reset(d)
}

// sweep ends the wires that have been idle for too long. It runs again as
// long as there are idle ones. Their times of last use may be too early by
// up to one period.
func (c *HostClient) sweep() {
	p := &c.pool
	var old []wire
	p.mu.Lock()
	p.armed = false
	p.now = clock.Ticks()
	for p.idle.n > 0 && time.Duration(p.now-p.idle.at(0).idleSince()) >= c.maxIdle()+c.sweepPeriod() {
		old = append(old, p.idle.popFront())
		p.stats.Expired++
	}
	if p.idle.n > 0 {
		c.arm()
	}
	p.bufs.empty()
	p.mu.Unlock()
	retireAll(old)
}

// CloseIdleConnections closes the connections that are idle. Connections in use
// stay open.
func (c *HostClient) CloseIdleConnections() {
	c.dropIdle(func(wire) bool { return true })
	c.pool.mu.Lock()
	all := slices.Clone(c.pool.shared.all)
	c.pool.mu.Unlock()
	retireAll(slices.DeleteFunc(all, func(w wire) bool { return w.running() > 0 }))
}

// dropSuspects ends idle wires that may be dead, after a use has shown that one is dead: a server
// that went away took all of them with it.
func (c *HostClient) dropSuspects() { c.dropIdle(isSuspect) }

// dropIdle ends the idle wires for which drop reports true.
func (c *HostClient) dropIdle(drop func(wire) bool) {
	p := &c.pool
	p.mu.Lock()
	var all []wire
	for n := p.idle.n; n > 0; n-- {
		if w := p.idle.popFront(); drop(w) {
			all = append(all, w)
		} else {
			p.idle.push(w)
		}
	}
	if p.idle.n == 0 && p.armed {
		p.sweeper.Stop()
		p.armed = false
	}
	p.mu.Unlock()
	retireAll(all)
}
