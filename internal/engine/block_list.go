package engine

import (
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// The connections of Block, and what is done to them from outside.

// Len returns the number of connections.
func (e *Block) Len() int { return int(e.n.Load()) }

func (e *Block) add(c *blockConn) {
	e.n.Add(1)
	e.mu.Lock()
	head := &e.list
	if head.after == nil {
		head.after, head.before = head, head
	}
	c.before, c.after = head.before, head
	c.before.after, head.before = c, c
	e.mu.Unlock()
}

func (e *Block) remove(c *blockConn) {
	e.mu.Lock()
	if e.cursor == c {
		e.cursor = c.after
	}
	c.before.after, c.after.before = c.after, c.before
	c.after, c.before = nil, nil
	e.mu.Unlock()
	e.n.Add(-1)
}

// each calls f for every connection, under mu.
func (e *Block) each(f func(c *blockConn)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := e.list.after; c != nil && c != &e.list; c = c.after {
		f(c)
	}
}

// Epoch returns the number of the present epoch.
func (e *Block) Epoch() uint32 { return e.epoch.Load() }

// Stop ends the epoch: idle connections are closed, the others as soon as they
// are idle. Those of the next epoch are not concerned.
func (e *Block) Stop() {
	e.epoch.Add(1)
	e.each(func(c *blockConn) {
		if c.Stopping() && !c.wake() && c.state.Load() == parting {
			c.nc.SetReadDeadline(longAgo) // it goes on for a moment
		}
	})
}

// Stopping reports whether the connection's epoch has ended.
func (c *blockConn) Stopping() bool { return c.epoch != c.e.epoch.Load() }

// CloseAll closes all connections at once, whatever they do.
func (e *Block) CloseAll() {
	e.each(func(c *blockConn) {
		if t, ok := c.nc.(interface{ NetConn() net.Conn }); ok {
			t.NetConn().Close() // without a farewell, which may block
		}
		c.nc.Close()
	})
}

// fresh is for how long, or a second less, a connection that has sent nothing yet
// isn't evicted: its first request may be on its way.
const fresh = clock.Tick(2 * time.Second)

// EvictIdle closes up to n idle connections to make room for others, and returns
// how many it found. It looks at a bounded number of connections, goes on where it
// ended the last time, and spares those that have only just begun.
func (e *Block) EvictIdle(n int) (found int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.cursor
	now := clock.Ticks()
	for range min(64+n, e.Len()) {
		if c == nil || c == &e.list {
			c = e.list.after // the oldest
		}
		if c == nil || c == &e.list {
			break
		}
		next := c.after
		if (c.served.Load() || now-c.opened > fresh) && c.wake() {
			found++
		}
		if c = next; found == n {
			break
		}
	}
	e.cursor = c
	return found
}

// Idle returns the number of connections that are idle. It looks at all.
func (e *Block) Idle() (n int) {
	e.each(func(c *blockConn) {
		if c.state.Load() == idle {
			n++
		}
	})
	return n
}

// wake ends the wait of an idle connection, so that it closes.
func (c *blockConn) wake() bool {
	if !c.state.CompareAndSwap(idle, closing) {
		return false
	}
	c.nc.SetReadDeadline(longAgo)
	return true
}
