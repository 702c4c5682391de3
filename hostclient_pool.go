package gale

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
)

// PoolStats describes the connections of a client: their number now, and counters
// since the client's first request. A connection of HTTP/2, which many requests share,
// counts as one.
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
	all := slices.Clone(c.pool.shared.all)
	p.mu.Unlock()
	for _, hc := range all {
		s.Reuses += hc.reuses()
	}
	return s
}

// connPool holds the connections of a HostClient. The idle ones are in the order in
// which they became idle. If requests wait, a connection that becomes free goes to
// the first of them at once, and so does the right to make one.
type connPool struct {
	mu    sync.Mutex
	idle  connRing
	open  int        // idle, in use or being made
	line  waiterList // calls that wait for a connection of their own
	stats PoolStats

	shared  sharedConns
	waiting atomic.Int32 // calls that wait, in both lines, or have a stream promised

	sweeper *time.Timer // closes old idle connections
	armed   bool        // the sweeper runs
	// now is the time of the sweeper's last run. It is used as the time of a
	// connection's last use, because reading the clock takes longer than everything
	// else that is done with a connection here.
	now     clock.Tick
	lastUse clock.Tick // when a request ended
	// spare are buffers for connections in use. They replace a sync.Pool, because
	// the lock is held anyway.
	spare  [8]*pool.Buf
	spares int
}

// takeBuf gives cc a buffer if there is one. The caller holds the lock.
func (p *connPool) takeBuf(cc *clientConn) {
	if p.spares > 0 {
		p.spares--
		cc.conn.LendBuffer(p.spare[p.spares])
		p.spare[p.spares] = nil
	}
}

// putBuf takes the buffer of cc. The caller holds the lock.
func (p *connPool) putBuf(cc *clientConn) {
	if p.spares == len(p.spare) {
		cc.conn.DropBuffer()
		return
	}
	if b := cc.conn.TakeBuffer(); b != nil {
		p.spare[p.spares] = b
		p.spares++
	}
}

// connRing is a queue of connections that can be taken from both ends.
type connRing struct {
	conns []*clientConn // its length is a power of two
	head  int
	n     int
}

func (r *connRing) push(cc *clientConn) {
	if r.n == len(r.conns) {
		grown := make([]*clientConn, max(8, 2*r.n))
		for i := range r.n {
			grown[i] = r.at(i)
		}
		r.conns, r.head = grown, 0
	}
	r.conns[(r.head+r.n)&(len(r.conns)-1)] = cc
	r.n++
}

func (r *connRing) at(i int) *clientConn { return r.conns[(r.head+i)&(len(r.conns)-1)] }

func (r *connRing) popFront() *clientConn {
	cc := r.conns[r.head]
	r.conns[r.head] = nil
	r.head = (r.head + 1) & (len(r.conns) - 1)
	r.n--
	return cc
}

func (r *connRing) popBack() *clientConn {
	i := (r.head + r.n - 1) & (len(r.conns) - 1)
	cc := r.conns[i]
	r.conns[i] = nil
	r.n--
	return cc
}

// acquire returns a connection that can carry a request of k: of HTTP/1.1 an idle one that is still
// good, a new one, or the next that becomes free; of HTTP/2 one with room for a stream, at least a
// moment ago, or for sure if it is k.promised. The error is door.ErrHTTP1 if only HTTP/2 may be
// used, and the host doesn't speak it.
func (c *HostClient) acquire(k *call) (wire, error) {
	for {
		line := &c.pool.line
		switch {
		case !k.http1 && c.speaks() != protoHTTP1:
			if hc := c.readyConn(); hc != nil {
				return hc, nil
			}
			line = &c.pool.shared.line
		case k.needsHTTP2():
			return nil, door.ErrHTTP1
		}
		got, w := c.reserve(k, line)
		if w != nil {
			got = c.await(k, w)
		}
		switch got.kind {
		case roomWire:
			if cc, own := got.w.(*clientConn); own {
				return c.check(k, cc, w != nil)
			}
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

// check returns cc, or another connection if cc is dead. waited says that another call has handed
// it over.
func (c *HostClient) check(k *call, cc *clientConn, waited bool) (wire, error) {
	if !waited && k.quick && cc.conn.CanSwap() || cc.conn.Alive() { // Swap itself detects a dead connection
		return cc, nil
	}
	return c.replace(k, cc)
}

// replace closes an unusable connection and returns another one in its place. The
// place stays reserved, so no other request can take it meanwhile.
func (c *HostClient) replace(k *call, cc *clientConn) (wire, error) {
	for {
		next := c.closeInPlace(cc)
		if next == nil {
			return c.dialReserved(k)
		}
		cc = next
		if cc.conn.Alive() {
			return cc, nil
		}
	}
}

// closeInPlace closes a dead connection. It returns an idle one, or nil if there is none and
// the place of the dead one stays reserved.
func (c *HostClient) closeInPlace(cc *clientConn) (next *clientConn) {
	closed := false
	defer func() {
		if !closed { // Close has ended the goroutine
			c.unreserve()
		}
	}()
	cc.conn.Close()
	closed = true
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Dead++
	if p.idle.n == 0 {
		return nil
	}
	next = p.idle.popFront()
	p.open-- // because next has a place of its own
	c.serveLines()
	return next
}

// reserve returns room for k, or a place in line, which is that of its protocol.
func (c *HostClient) reserve(k *call, line *waiterList) (got room, w *connWaiter) {
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if line == &p.line && p.idle.n > 0 {
		if cc := c.popIdle(); cc != nil {
			return room{w: cc}, nil
		}
	}
	p.waiting.Add(1) // before it looks for room, so that a call that ends meanwhile sees it
	found := false
	if line.isTurnOf(k) {
		got, found = c.find(line)
	}
	switch {
	case found:
	case line == &p.line && !k.http1 && c.speaks() == protoHTTP2: // as of a moment ago
		got.kind = roomOther
	case c.MaxConnWaitTimeout <= 0 && !p.shared.waitsForDial(line):
		got = noRoom(ErrNoFreeConns)
	default:
		return room{}, c.wait(k, line)
	}
	if !got.isStream() {
		p.waiting.Add(-1)
	}
	return got, nil
}

// find looks for room for a call of a line. The caller holds the lock, and counts the call in
// connPool.waiting as long as a stream is promised to it.
func (c *HostClient) find(line *waiterList) (got room, ok bool) {
	if line == &c.pool.line {
		return c.findOwn()
	}
	return c.findShared()
}

// findOwn finds room for a call that needs a connection of HTTP/1.1. The caller holds the
// lock.
func (c *HostClient) findOwn() (got room, ok bool) {
	p := &c.pool
	switch {
	case p.idle.n > 0:
		if cc := c.popIdle(); cc != nil {
			return room{w: cc}, true
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

// popIdle takes an idle connection. The result is nil if ConnPoolStrategy has no valid value. The
// caller holds the lock.
func (c *HostClient) popIdle() (cc *clientConn) {
	p := &c.pool
	switch c.ConnPoolStrategy {
	case FIFO:
		cc = p.idle.popFront()
	case LIFO:
		cc = p.idle.popBack()
	default:
		return nil
	}
	p.stats.Reuses++
	p.takeBuf(cc)
	return cc
}

// yieldPlace closes an idle connection, so that its place can be used for one of HTTP/2, and
// reports whether there was one. The caller holds the lock, and has the place then.
func (p *connPool) yieldPlace() bool {
	if p.idle.n == 0 {
		return false
	}
	go p.idle.popFront().conn.Close() // the lock is held
	return true
}

func (p *connPool) count(n *uint64) {
	p.mu.Lock()
	*n++
	p.mu.Unlock()
}

// release gives back a connection that can be reused.
func (c *HostClient) release(cc *clientConn) {
	p := &c.pool
	p.mu.Lock()
	if p.open > c.maxConns() {
		p.mu.Unlock()
		c.discard(cc)
		return
	}
	if !p.armed {
		p.now = clock.Ticks()
		c.arm()
	}
	cc.lastUse, p.lastUse = p.now, p.now
	cc.conn.MarkIdle()
	p.putBuf(cc)
	p.idle.push(cc)
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

// discard closes a connection and gives its place to others.
func (c *HostClient) discard(cc *clientConn) {
	defer c.unreserve() // even if Close ends the goroutine
	cc.conn.Close()
}

// discardAll is discard for several.
func (c *HostClient) discardAll(all []*clientConn) {
	if len(all) > 0 {
		defer c.discardAll(all[1:])
		c.discard(all[0])
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

// sweep closes the connections that have been idle for too long. It runs again as
// long as there are idle connections. Their times of last use may be too early by
// up to one period.
func (c *HostClient) sweep() {
	p := &c.pool
	var old []*clientConn
	p.mu.Lock()
	p.armed = false
	p.now = clock.Ticks()
	for p.idle.n > 0 && time.Duration(p.now-p.idle.at(0).lastUse) >= c.maxIdle()+c.sweepPeriod() {
		old = append(old, p.idle.popFront())
		p.stats.Expired++
	}
	if p.idle.n > 0 {
		c.arm()
	}
	for p.spares > 0 {
		p.spares--
		pool.Put(p.spare[p.spares])
		p.spare[p.spares] = nil
	}
	p.mu.Unlock()
	c.discardAll(old)
}

// CloseIdleConnections closes the connections that are idle. Connections in use
// stay open.
func (c *HostClient) CloseIdleConnections() {
	c.dropIdle(func(*clientConn) bool { return true })
	c.retireIdle()
}

// dropSuspects closes idle connections that may be dead, after a use has shown that
// one is dead: a server that went away took all of them with it.
func (c *HostClient) dropSuspects() {
	c.dropIdle(func(cc *clientConn) bool { return !cc.conn.CanCheck() || !cc.conn.Alive() })
}

// dropIdle closes the idle connections for which drop reports true.
func (c *HostClient) dropIdle(drop func(*clientConn) bool) {
	p := &c.pool
	p.mu.Lock()
	var all []*clientConn
	for n := p.idle.n; n > 0; n-- {
		if cc := p.idle.popFront(); drop(cc) {
			all = append(all, cc)
		} else {
			p.idle.push(cc)
		}
	}
	if p.idle.n == 0 && p.armed {
		p.sweeper.Stop()
		p.armed = false
	}
	p.mu.Unlock()
	c.discardAll(all)
}

// AcquireConn returns a connection of the pool, for implementations of
// [RoundTripper]: an idle one, or a new one. It offers the server the protocols that
// TLSConfig has, and returns no connection of HTTP/2 that this package uses. If reqTimeout is positive, it limits
// the time that this takes. connectionClose says that the connection won't be
// reused; it has no effect here. Give the connection back with ReleaseConn, or with
// CloseConn if it can't be reused. It has no deadlines.
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (cc *clientConn, err error) {
	k := newCall(context.Background(), reqTimeout)
	k.kind, k.http1 = callRaw, true
	w, err := c.acquire(&k)
	if err != nil {
		return nil, err
	}
	cc = w.(*clientConn)
	if cc.conn.HasDeadlines() {
		if err = cc.clearDeadlines(); err != nil {
			c.discard(cc)
			return nil, err
		}
	}
	return cc, nil
}

// ReleaseConn gives back a connection that can be used for another request. The
// exchange must be complete and all its bytes must have been read. Deadlines that
// were set on it are cleared.
func (c *HostClient) ReleaseConn(cc *clientConn) {
	if cc.clearDeadlines() != nil {
		c.discard(cc)
		return
	}
	cc.served++
	c.release(cc)
}

// clearDeadlines clears the deadlines that are set. If a method of the user's
// connection panics, that is an error.
func (cc *clientConn) clearDeadlines() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gale: SetDeadline of a %T panicked: %v", cc.Conn(), r)
		}
	}()
	return cc.conn.ClearDeadlines()
}

// CloseConn closes a connection that AcquireConn returned.
func (c *HostClient) CloseConn(cc *clientConn) { c.discard(cc) }
