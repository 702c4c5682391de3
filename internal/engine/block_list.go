package engine

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// The connections of Block, and what other goroutines do to them.

// Len returns the number of connections.
func (e *Block) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// add puts c into the ring, as the newest. Its goroutine calls it, without locks. If CloseAll
// may have missed it before, add closes it.
func (e *Block) add(c *blockConn) {
	e.mu.Lock()
	e.n++
	head := &e.list
	if head.after == nil {
		head.after, head.before = head, head
	}
	c.before, c.after = head.before, head
	c.before.after, head.before = c, c
	if !e.epoch.killed(c.epoch) {
		e.mu.Unlock()
		return
	}
	k := c.kill()
	e.mu.Unlock()
	k.close()
}

// remove takes c out of the ring. Its goroutine calls it, once, without holding mu. After
// that no other goroutine of the engine can reach c, except through its Waker or a watch.
func (e *Block) remove(c *blockConn) {
	c.unclaim()
	e.mu.Lock()
	if e.cursor == c {
		e.cursor = c.after
	}
	c.before.after, c.after.before = c.after, c.before
	c.after, c.before = nil, nil
	e.n--
	e.mu.Unlock()
}

// each calls f for every connection, under mu. So f must not call methods of Block that
// take mu. Of sessions it may call Panicked only.
func (e *Block) each(f func(c *blockConn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := e.list.after; c != nil && c != &e.list; c = c.after {
		f(c)
	}
}

// Epoch returns the number of the current epoch.
func (e *Block) Epoch() uint32 { return e.epoch.number() }

// Drain begins the end of the epoch: from now on Stopping is true for its connections,
// including new ones. They all go on until Stop, even idle ones. Sessions with a Waker
// are fed, since they may have to tell their peers at once. Drain sets the bit before it
// looks at wakers. Waker and open look at the bit after they have made the waker visible.
// So one of the two sees the other.
func (e *Block) Drain() {
	e.epoch.drain()
	e.each((*blockConn).hear)
}

// hear wakes the session if it has a Waker and the connection's epoch drains or has
// ended. It is called under Block.mu, or by the goroutine of the connection.
func (c *blockConn) hear() {
	if c.waker != nil && c.Stopping() {
		c.waker.Wake()
	}
}

// Stop ends the epoch. Idle connections are closed; the others are closed as soon as they
// are idle, and their sessions are fed if they have a Waker. Connections of the next
// epoch go on. Stop changes the epoch before it looks at states, and wait stores idle
// before it looks at the epoch. So one of the two sees the other.
func (e *Block) Stop() {
	e.EndEpoch()
	e.CloseOver()
}

// EndEpoch is the part of Stop that calls no method of a connection: the caller may hold
// locks. It must call CloseOver later, without them.
func (e *Block) EndEpoch() { e.epoch.end() }

// CloseOver does to connections of epochs that have ended what Stop says.
func (e *Block) CloseOver() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := e.list.after; c != nil && c != &e.list; c = c.after {
		switch {
		case !c.over():
		case c.claimIdle(), c.claim(parting, parting): // closeGracefully goes on for lingerStop at most
			e.rouse(c)
		default:
			c.hear()
		}
	}
}

// Stopping reports whether the connection's epoch drains or has ended.
func (c *blockConn) Stopping() bool { return c.epoch != c.e.epoch.Load() }

// Stops is Stopping for a connection of that epoch. Any goroutine may call it.
func (e *Block) Stops(epoch uint32) bool { return epoch != e.epoch.Load() }

// over reports whether the connection's epoch has ended.
func (c *blockConn) over() bool { return c.Stopping() && c.epoch != c.e.epoch.number() }

// CloseAll closes all connections of epochs that have ended at once, whatever they do, also
// those that are being opened: see epoch.kill.
func (e *Block) CloseAll() {
	e.epoch.kill()
	all := make([]killedConn, 0, e.Len())
	e.each(func(c *blockConn) {
		if e.epoch.killed(c.epoch) {
			all = append(all, c.kill())
		}
	})
	for _, k := range all {
		k.close()
	}
}

// killedConn is what is needed to close a connection without owning it.
type killedConn struct {
	nc    net.Conn
	sess  Session
	waker *Waker
}

// kill notes that the connection is closed, under Block.mu. The caller must then call close.
func (c *blockConn) kill() killedConn {
	c.killed.Store(true)
	return killedConn{c.nc, c.sess, c.waker}
}

// failed returns the error for err, with which a read or a write of the connection has failed: after
// kill it only tells that the connection was closed, in the way of its type.
func (c *blockConn) failed(err error) error {
	if c.killed.Load() {
		return net.ErrClosed
	}
	return err
}

// close is called without locks: Close may be the program's code.
func (k killedConn) close() {
	calmly(k.sess, func() { CloseNow(k.nc) })
	k.waker.ring(true)
}

// CloseNow closes nc without the closure alert of TLS, since sending it may block. So it
// closes the socket first. Any goroutine may call it.
func CloseNow(nc net.Conn) {
	if b, ok := below(nc); ok {
		b.Close()
	}
	nc.Close()
}

// ResetNow is CloseNow, except that it resets the socket (RFC 9293 section 3.5.3):
// SO_LINGER with 0 seconds makes close send RST.
func ResetNow(nc net.Conn) {
	b, ok := below(nc)
	if !ok {
		b = nc
	}
	if l, ok := b.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
	CloseNow(nc)
}

// below returns the connection on which nc, of TLS or given to a HijackHandler, is built.
func below(nc net.Conn) (b net.Conn, ok bool) {
	for range 3 {
		switch t := nc.(type) {
		case interface{ NetConn() net.Conn }:
			nc, ok = t.NetConn(), true
		case interface{ UnsafeConn() net.Conn }:
			nc, ok = t.UnsafeConn(), true
		default:
			return nc, ok
		}
	}
	return nc, ok
}

// fresh is how long a new connection that has sent nothing isn't evicted, since its first
// request may be on its way. It may be a second less, since opened is coarse.
const fresh = 2 * time.Second

// EvictIdle closes up to n idle connections to make room for others, and returns how many
// it found. It looks at 64+n connections at most, starts where the last call ended, and
// spares connections that have only just begun.
func (e *Block) EvictIdle(n int) (found int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := clock.Ticks()
	for range min(64+n, e.n) {
		c := e.cursor
		if c == nil || c == &e.list {
			c = e.list.after // the oldest
		}
		if c == nil || c == &e.list {
			break
		}
		e.cursor = c.after // before rouse, which lets other calls go on from there
		if (c.served.Load() || now-c.opened > clock.Tick(fresh)) && c.claimIdle() {
			e.rouse(c)
			found++
		}
		if found == n {
			break
		}
	}
	return found
}

// Settled returns the number of connections that have sent something, or are older than
// age. The age is exact to a second. It looks at all connections.
func (e *Block) Settled(age time.Duration) (n int) {
	now := clock.Ticks()
	e.each(func(c *blockConn) {
		if c.served.Load() || now-c.opened > clock.Tick(age) {
			n++
		}
	})
	return n
}

// Idle returns the number of idle connections. It looks at all connections.
func (e *Block) Idle() (n int) {
	e.each(func(c *blockConn) {
		if c.state.Load() == idle {
			n++
		}
	})
	return n
}

// claimIdle claims an idle connection, which closes after rouse. It returns false if the
// connection isn't idle. It is called under Block.mu.
func (c *blockConn) claimIdle() bool { return c.claim(idle, closing) }

// claim changes the state from old to new and claims the connection, or returns false: see
// busy. The caller holds Block.mu and calls rouse if it returns true.
func (c *blockConn) claim(old, new int32) bool {
	if c.state.Load() != old || !c.rousing.TryLock() {
		return false
	}
	if c.state.CompareAndSwap(old, new) {
		return true
	}
	c.rousing.Unlock()
	return false
}

// rouse ends the wait of a connection that the caller has claimed, and gives up the claim.
// The caller holds mu, which is free meanwhile, since SetReadDeadline may be the program's
// code. c stays in the ring until then.
func (e *Block) rouse(c *blockConn) {
	k := c.waker
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		c.rousing.Unlock()
	}()
	c.calmly(c.interruptRead)
	c.closeIfDeaf()
	k.ring(false)
}

// deafAfter is how long after its deadline a Read may return before the engine takes the
// connection for one whose deadlines do nothing.
const deafAfter = time.Second

// closeIfDeaf closes an idle connection after deafAfter, unless unclaim is called before.
// Only a connection of the program can be one whose deadlines do nothing. The caller holds
// rousing.
func (c *blockConn) closeIfDeaf() {
	if c.deaf != nil || !c.foreign() || c.state.Load() != closing {
		return
	}
	nc, sess, d := c.nc, c.sess, new(deafClose)
	d.timer = time.AfterFunc(deafAfter, func() {
		if d.take() {
			calmly(sess, func() { CloseNow(nc) })
		}
	})
	c.deaf = d
}

// deafClose is a close that is due after deafAfter. The timer takes it
// and closes, or unclaim takes it before. Neither waits for the other, since Close is the program's
// code.
type deafClose struct {
	timer *time.Timer
	taken atomic.Bool
}

func (d *deafClose) take() bool { return d.taken.CompareAndSwap(false, true) }

// unclaim makes c busy, so that no goroutine can claim it, and waits for one that has. The
// goroutine of the connection calls it, without locks. It returns true if the connection
// was closed because its deadlines do nothing.
func (c *blockConn) unclaim() (closed bool) {
	c.rousing.Lock()
	defer c.rousing.Unlock()
	c.state.Store(busy)
	if d := c.deaf; d != nil {
		d.timer.Stop()
		closed, c.deaf = !d.take(), nil
	}
	return closed
}

// interruptRead ends a read that waits. Any goroutine may call it while c has nc.
func (c *blockConn) interruptRead() { c.nc.SetReadDeadline(clock.LongAgo) }
