package gale

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
)

// hostProto says which protocol the host of a HostClient speaks.
type hostProto uint32

const (
	protoNew   hostProto = iota // no call was made yet
	protoHTTP1                  // HTTP/1.1
	protoUnset                  // the first connection will show it
	protoHTTP2                  // HTTP/2
)

// h2Conns are the connections of HTTP/2 of a HostClient. Each has a place of the pool, like
// the other connections; connPool.mu guards the fields after waiting.
type h2Conns struct {
	proto   atomic.Uint32              // a hostProto
	refused atomic.Bool                // the server wants HTTP/1.1 instead
	first   atomic.Pointer[sharedConn] // where calls look first, or nil
	waiting atomic.Int32               // calls that wait: in line, or about to look again
	once    sync.Once
	cfg     h2.Config

	all     []*sharedConn
	line    waiterList
	dialing bool // a call is dialing; others wait for the result
	turn    int  // to use the addresses of the host in turns
	addrs   int  // how many addresses the host has, 0 if that isn't known yet
}

// offersHTTP2 reports whether connections may be of HTTP/2.
func (c *HostClient) offersHTTP2() bool {
	switch c.HTTP2 {
	case HTTP2On, HTTP2Only:
		return true
	case HTTP2Auto:
		return defaultHTTP2 && (c.TLSConfig == nil || len(c.TLSConfig.NextProtos) == 0 || slices.Contains(c.TLSConfig.NextProtos, alpnHTTP2))
	}
	return false
}

// learn decides, at the first call, what can be known of the host's protocol.
func (c *HostClient) learn() hostProto {
	p := protoHTTP1
	switch {
	case c.forward || !c.offersHTTP2():
	case c.HTTP2 == HTTP2Only:
		p = protoHTTP2
	case c.IsTLS:
		p = protoUnset
	}
	c.h2.proto.CompareAndSwap(uint32(protoNew), uint32(p))
	return hostProto(c.h2.proto.Load())
}

// refuse records that the server wants HTTP/1.1.
func (x *h2Conns) refuse() {
	x.refused.Store(true)
	x.proto.Store(uint32(protoHTTP1))
}

// isH2 reports whether nc, a new connection, is of HTTP/2. A connection that the call can't
// use is an error.
func (c *HostClient) isH2(k *call, nc net.Conn, addr string) (bool, error) {
	if k.raw || c.forward || !c.offersHTTP2() {
		return false, nil
	}
	tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return c.HTTP2 == HTTP2Only && !k.http1, nil
	}
	state := tc.ConnectionState()
	chosen := state.NegotiatedProtocol == alpnHTTP2
	switch {
	case c.HTTP2 == HTTP2Only && !k.http1 && !chosen:
		return false, fmt.Errorf("gale: the server at %q doesn't speak HTTP/2: it chose the protocol %q (ALPN). Set HTTP2 to another value than HTTP2Only to use HTTP/1.1", addr, state.NegotiatedProtocol)
	case chosen && k.http1:
		return false, fmt.Errorf("gale: the request needs HTTP/1.1, but the connection to %q that was dialed speaks HTTP/2", addr)
	case chosen && !secureForHTTP2(&state):
		return false, fmt.Errorf("gale: the server at %q chose HTTP/2 with TLS parameters that HTTP/2 forbids (RFC 9113 section 9.2)", addr)
	}
	return chosen, nil
}

// shakeError returns the error of a handshake that failed with err. With HTTP2Only it says so
// if the server knows none of the protocols that were offered.
func (c *HostClient) shakeError(addr string, err error) error {
	// Package tls has no exported type for this alert (RFC 7301 section 3.2).
	if c.HTTP2 == HTTP2Only && strings.HasSuffix(err.Error(), "no application protocol") {
		return fmt.Errorf("gale: the server at %q doesn't speak HTTP/2, which HTTP2Only demands: %w", addr, err)
	}
	return err
}

// alpnChoice says which protocols a TLS handshake offers.
type alpnChoice uint8

const (
	alpnAsSet   alpnChoice = iota // those of the user's configuration
	alpnBoth                      // HTTP/2 before them, and HTTP/1.1
	alpnH2                        // HTTP/2 only
	alpnNoHTTP2                   // those of the user's configuration without HTTP/2
)

func (c *HostClient) alpn(k *call) alpnChoice {
	switch {
	case k.raw:
		return alpnAsSet
	case k.http1 || c.HTTP2 == HTTP2Off || c.h2.refused.Load():
		return alpnNoHTTP2
	case c.forward || !c.offersHTTP2():
		return alpnAsSet
	case c.HTTP2 == HTTP2Only:
		return alpnH2
	}
	return alpnBoth
}

// names returns the protocols to offer, when the user has set own.
func (a alpnChoice) names(own []string) []string {
	switch a {
	case alpnBoth:
		names := []string{alpnHTTP2}
		for _, name := range own {
			if name != alpnHTTP2 {
				names = append(names, name)
			}
		}
		if len(own) == 0 || !slices.Contains(own, "http/1.1") {
			names = append(names, "http/1.1")
		}
		return names
	case alpnH2:
		return []string{alpnHTTP2}
	case alpnNoHTTP2:
		if slices.Contains(own, alpnHTTP2) {
			return slices.DeleteFunc(slices.Clone(own), func(name string) bool { return name == alpnHTTP2 })
		}
	}
	return own
}

// acquireH2 returns a connection of HTTP/2 with room for a stream, at least a moment ago. If
// the host has turned out to speak HTTP/1.1, it returns neither that nor an error, but cc if
// the call has just dialed it.
func (c *HostClient) acquireH2(k *call) (hc *sharedConn, cc *clientConn, err error) {
	if hc := c.h2.first.Load(); hc != nil && c.h2.waiting.Load() == 0 && hc.room.Load() > 0 && !c.isOld(hc) {
		return hc, nil, nil
	}
	waited := false
	var since clock.Tick // when the call began to wait for a stream
	for {
		hc, dial, w, err := c.reserveH2(waited, &since)
		switch {
		case err != nil, hc != nil:
			return hc, nil, err
		case dial:
			return c.dialH2(k)
		case w == nil:
			return nil, nil, nil
		}
		if err := c.awaitH2(k, w, since); err != nil {
			return nil, nil, err
		}
		waited = true
	}
}

// isOld retires a connection that was used for MaxConnDuration, and reports whether it did.
func (c *HostClient) isOld(hc *sharedConn) bool {
	if c.MaxConnDuration <= 0 || clock.Ticks()-hc.cc.created <= clock.Tick(c.MaxConnDuration) {
		return false
	}
	hc.retire()
	return true
}

// reserveH2 returns a connection with room, the right to make one, or a place in the line. If
// it returns none of them, the host speaks HTTP/1.1. waited says that the call has waited
// already, so that it goes before those that come.
func (c *HostClient) reserveH2(waited bool, since *clock.Tick) (hc *sharedConn, dial bool, w *connWaiter, err error) {
	p, x := &c.pool, &c.h2
	var old []*sharedConn
	var idle *clientConn
	defer func() {
		for _, hc := range old {
			hc.retire()
		}
		if idle != nil {
			idle.conn.Close()
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	if waited {
		x.waiting.Add(-1)
	}
	if hostProto(x.proto.Load()) == protoHTTP1 {
		x.wake(1)
		return nil, false, nil, nil
	}
	if x.line.n == 0 || waited {
		if hc, old = x.choose(c); hc != nil {
			if hc.room.Load() > 1 {
				x.wake(1) // there may be room for the next call, too
			}
			return hc, false, nil, nil
		}
	}
	full := p.open >= c.maxConns()
	if full && p.idle.n > 0 && !x.dialing && len(x.all) == 0 { // only connections of HTTP/1.1
		idle = p.idle.popFront()
		p.open--
		full = false
	}
	switch {
	case x.dialing:
	case !full:
		x.dialing = true
		p.open++
		return nil, true, nil, nil
	case c.MaxConnWaitTimeout <= 0:
		return nil, false, nil, ErrNoFreeConns
	case *since == 0:
		*since = clock.Ticks()
	}
	w = connWaiters.Get().(*connWaiter)
	x.waiting.Add(1) // before it looks for room, so that a call that ends meanwhile sees it
	if x.line.n == 0 || waited {
		if hc, _ = x.choose(c); hc != nil {
			x.waiting.Add(-1)
			connWaiters.Put(w)
			return hc, false, nil, nil
		}
	}
	if waited {
		x.line.pushFront(w)
	} else {
		x.line.push(w)
		p.stats.Waits++
	}
	return nil, false, w, nil
}

// choose returns a connection with room: the first one, so that those that aren't needed
// become idle. If the host has several addresses, it takes them in turns, and returns nil as
// long as there are fewer connections. old are connections to retire. The caller holds the
// pool's lock.
func (x *h2Conns) choose(c *HostClient) (hc *sharedConn, old []*sharedConn) {
	if x.addrs == 0 {
		x.addrs = c.addrs.count(c.Addr)
	}
	n := len(x.all)
	if x.addrs > 1 && n < x.addrs && !x.dialing && c.pool.open < c.maxConns() {
		return nil, nil
	}
	from := 0
	if x.addrs > 1 && n > 0 {
		x.turn++
		from = x.turn % n
	}
	for i := range n {
		h := x.all[(from+i)%n]
		if h.room.Load() <= 0 {
			continue
		}
		if c.MaxConnDuration > 0 && clock.Ticks()-h.cc.created > clock.Tick(c.MaxConnDuration) {
			old = append(old, h)
			continue
		}
		if x.addrs <= 1 {
			x.first.Store(h)
		}
		return h, old
	}
	return nil, old
}

// wake lets the first n calls of the line look again. The caller holds the pool's lock.
func (x *h2Conns) wake(n int) {
	for ; n > 0 && x.line.n > 0; n-- {
		x.line.serve(nil)
	}
}

// freed is called when a place of the pool has become free. While a call is dialing, the
// others wait for its result anyway. The caller holds the pool's lock.
func (x *h2Conns) freed() {
	if !x.dialing {
		x.wake(1)
	}
}

// tellH2Room is called when a stream may be opened, without sharedConn.mu.
func (c *HostClient) tellH2Room() {
	if c.h2.waiting.Load() == 0 {
		return
	}
	c.pool.mu.Lock()
	c.h2.wake(1)
	c.pool.mu.Unlock()
}

// awaitH2 waits until w may look again. since is when the call began to wait for a stream
// although there may be no more connections, 0 if it waits for a dial.
func (c *HostClient) awaitH2(k *call, w *connWaiter, since clock.Tick) error {
	var due clock.Tick
	late := error(ErrTimeout)
	if due = k.deadline; since != 0 {
		if t := since.Add(c.MaxConnWaitTimeout); due == 0 || t < due {
			due, late = t, ErrNoFreeConns
		}
	}
	var done <-chan struct{}
	if k.ctx != nil {
		done = k.ctx.Done()
	}
	var fires <-chan time.Time
	if due != 0 {
		t := AcquireTimer(max(time.Duration(due-clock.Ticks()), 0))
		defer ReleaseTimer(t)
		fires = t.C
	}
	var err error
	select {
	case <-w.ready:
		err = w.err
		w.err = nil
		connWaiters.Put(w)
		if err != nil {
			c.h2.waiting.Add(-1)
		}
		return err
	case <-fires:
		err = late
	case <-done:
		err = k.ctx.Err()
	}
	p := &c.pool
	p.mu.Lock()
	c.h2.waiting.Add(-1)
	if w.listed {
		c.h2.line.remove(w)
	} else {
		<-w.ready
		c.h2.wake(1) // in its place
	}
	w.err = nil
	p.mu.Unlock()
	connWaiters.Put(w)
	return err
}

// dialH2 makes a connection, for which a place is reserved, and lets the calls that wait for
// it look again, or gives them its error.
func (c *HostClient) dialH2(k *call) (hc *sharedConn, cc *clientConn, err error) {
	err = errNoConn // in case the user's function ends the goroutine
	defer func() {
		c.dialedH2(k, hc, cc, err)
	}()
	cc, err = c.dialReserved(k)
	if isSpeaks := (*errSpeaksH2)(nil); errors.As(err, &isSpeaks) {
		return isSpeaks.hc, nil, nil
	}
	return nil, cc, err
}

// dialedH2 ends the dial that others wait for.
func (c *HostClient) dialedH2(k *call, hc *sharedConn, cc *clientConn, err error) {
	p, x := &c.pool, &c.h2
	p.mu.Lock()
	defer p.mu.Unlock()
	x.dialing = false
	switch {
	case hc != nil:
		x.wake(int(hc.room.Load()) + 1)
	case cc != nil:
		x.proto.Store(uint32(protoHTTP1))
		x.wake(x.line.n)
	case k.mustEnd() != nil || errors.Is(err, ErrTimeout):
		x.wake(1) // the reason is not the host's
	default:
		for w := x.line.first; w != nil; w = w.next {
			w.err = err
		}
		x.wake(x.line.n)
	}
}

// errSpeaksH2 is how dialing reports a connection of HTTP/2.
type errSpeaksH2 struct{ hc *sharedConn }

func (*errSpeaksH2) Error() string { return "gale: the connection speaks HTTP/2" }

// adoptH2 makes cc, whose place is reserved, one of the connections of HTTP/2.
func (c *HostClient) adoptH2(cc *clientConn) *sharedConn {
	hc := c.newSharedConn(cc)
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	c.h2.proto.Store(uint32(protoHTTP2))
	if hc.ended.Load() { // it isn't in the list, so forgetH2 leaves the place to this call
		p.open--
		p.grant(c.maxConns())
		return hc
	}
	c.h2.all = append(c.h2.all, hc)
	if c.addrs.count(c.Addr) == 1 {
		c.h2.first.CompareAndSwap(nil, hc)
	}
	return hc
}

// yieldPlace ends an idle connection, so that its place can be used for one of HTTP/1.1, and
// reports whether there was one. The caller holds the pool's lock, and has the place then.
func (x *h2Conns) yieldPlace() bool {
	for i, hc := range x.all {
		if hc.active.Load() == 0 {
			x.all = slices.Delete(x.all, i, i+1)
			x.first.CompareAndSwap(hc, nil)
			go hc.retire() // it must not be locked here
			return true
		}
	}
	return false
}

// forgetH2 gives back the place of a connection that has ended, unless it was yielded, or ended
// before adoptH2.
func (c *HostClient) forgetH2(hc *sharedConn) {
	reuses := hc.reuses()
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Reuses += reuses
	p.lastUse = clock.Ticks()
	c.h2.first.CompareAndSwap(hc, nil)
	i := slices.Index(c.h2.all, hc)
	if i < 0 {
		return
	}
	c.h2.all = slices.Delete(c.h2.all, i, i+1)
	p.open--
	p.grant(c.maxConns())
	c.h2.freed()
}

// closeIdleH2 closes the idle connections of HTTP/2.
func (c *HostClient) closeIdleH2() {
	c.pool.mu.Lock()
	all := slices.Clone(c.h2.all)
	c.pool.mu.Unlock()
	for _, hc := range all {
		hc.closeIdle()
	}
}

// count adds what x has to s, and returns how many calls are running. The caller holds the
// pool's lock.
func (x *h2Conns) count(s *PoolStats) (running int) {
	for _, hc := range x.all {
		n := int(hc.active.Load())
		if running += n; n == 0 {
			s.Idle++
		}
	}
	s.Waiting += x.line.n
	return running
}
