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

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
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
// the other connections; connPool.mu guards the fields after cfg.
type h2Conns struct {
	proto   atomic.Uint32              // a hostProto
	refused atomic.Bool                // the server wants HTTP/1.1 instead
	first   atomic.Pointer[sharedConn] // where calls look first, or nil
	waiting atomic.Int32               // calls that wait, in both lines, or have a stream promised
	once    sync.Once
	cfg     h2.Config

	all     []*sharedConn
	line    waiterList // calls that wait for a stream
	dialing bool       // a call is dialing; others wait for the result
	turn    int        // to use the addresses of the host in turns
	addrs   int        // how many addresses the host has, 0 if that isn't known yet
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

// speaks returns which protocol the host speaks, as far as that is known.
func (c *HostClient) speaks() hostProto {
	if p := hostProto(c.h2.proto.Load()); p != protoNew {
		return p
	}
	return c.learn()
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

// speaksHTTP1 records that the server has chosen HTTP/1.1 for a connection that could be of
// HTTP/2.
func (c *HostClient) speaksHTTP1() {
	x := &c.h2
	if hostProto(x.proto.Load()) != protoHTTP1 {
		x.proto.Store(uint32(protoHTTP1))
		c.tellLines()
	}
}

// isH2 reports whether nc, a new connection, is of HTTP/2. A connection that the call can't
// use is an error.
func (c *HostClient) isH2(k *call, nc net.Conn, addr string) (bool, error) {
	if k.kind == callRaw || c.forward || !c.offersHTTP2() {
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
	case k.kind == callRaw:
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

// readyConn returns the connection of HTTP/2 that calls use first, if it has room and no call
// waits, or nil.
func (c *HostClient) readyConn() *sharedConn {
	hc := c.h2.first.Load()
	switch {
	case hc == nil, c.h2.waiting.Load() > 0, hc.room.Load() <= 0:
		return nil
	case c.isOld(hc.cc):
		hc.retire()
		return nil
	}
	return hc
}

// findHTTP2 finds room for a call that needs HTTP/2, unless the host speaks HTTP/1.1.
// While a call is dialing, others that find no stream wait for the result. The caller holds
// the pool's lock.
func (c *HostClient) findHTTP2() (got room, ok bool) {
	p, x := &c.pool, &c.h2
	if hostProto(x.proto.Load()) == protoHTTP1 {
		return room{other: true}, true
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
	return room{dial: true, leads: true}, true
}

// choose returns a connection with room: the first one, so that those that aren't needed
// become idle. If the host has several addresses, it takes them in turns, and returns nil as
// long as there are fewer connections. The caller holds the pool's lock.
func (x *h2Conns) choose(c *HostClient) *sharedConn {
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
func (x *h2Conns) waitsForDial(line *waiterList) bool { return x.dialing && line == &x.line }

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
	p, x := &c.pool, &c.h2
	shared := false // the error is that of the others, too
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		x.dialing = false
		defer c.serveAfterDial()
		for shared && x.line.n > 0 {
			c.serve(x.line.first, room{err: err})
		}
	}()
	shared = err != nil && !errors.Is(err, ErrTimeout) && k.mustEnd() == nil // without the lock: it may be user code
}

// serveAfterDial is serveLines after the dial that the line has waited for. For the calls that
// stay there, MaxConnWaitTimeout begins. The caller holds the pool's lock.
func (c *HostClient) serveAfterDial() {
	x := &c.h2
	c.serveLines()
	if x.dialing {
		return
	}
	if c.MaxConnWaitTimeout <= 0 {
		for x.line.n > 0 {
			c.serve(x.line.first, room{err: ErrNoFreeConns})
		}
	}
	now := clock.Ticks()
	for w := x.line.last; w != nil && w.since == 0; w = w.prev { // those that came during the dial
		w.since = now
	}
}

// adoptH2 makes cc, whose place is reserved, one of the connections of HTTP/2. If k isn't nil, a
// stream is promised to it.
func (c *HostClient) adoptH2(k *call, cc *clientConn) *sharedConn {
	hc := c.newSharedConn(cc)
	p, x := &c.pool, &c.h2
	p.mu.Lock()
	defer p.mu.Unlock()
	x.proto.Store(uint32(protoHTTP2))
	if k != nil {
		hc.promised++
		x.waiting.Add(1)
		k.promised = hc
	}
	if hc.ended.Load() { // it isn't in the list, so forgetH2 leaves the place to this call
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
			c.serve(w, room{other: true})
		}
		w = next
	}
	c.serveLines()
	return hc
}

// yieldPlace ends an idle connection, so that its place can be used for one of HTTP/1.1, and
// reports whether there was one. The caller holds the pool's lock, and has the place then.
func (x *h2Conns) yieldPlace() bool {
	for i, hc := range x.all {
		if hc.active.Load() == 0 && hc.promised == 0 && hc.dismissIdle() {
			x.all = slices.Delete(x.all, i, i+1)
			x.first.CompareAndSwap(hc, nil)
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
	c.serveLines()
}

// closeIdleH2 closes the idle connections of HTTP/2.
func (c *HostClient) closeIdleH2() {
	c.pool.mu.Lock()
	all := slices.Clone(c.h2.all)
	c.pool.mu.Unlock()
	for _, hc := range all {
		hc.dismissIdle()
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
