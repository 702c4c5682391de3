package gale

import (
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// wire is a connection to the host, of any protocol. A call has a clientConn alone, and shares a
// sharedConn with others.
//
// The methods of a clientConn are called by the call that has it, or under the pool's lock while it is
// idle. Those of a sharedConn may be called by any goroutine, under the pool's lock or without it.
type wire interface {
	// Conn returns the connection itself.
	Conn() net.Conn
	// age returns how long ago it was made.
	age() time.Duration
	// uses returns how many requests it has carried.
	uses() int
	// room returns how many more requests can begin on it now. It is 0 or 1 for a clientConn, which
	// has room unless it is dead.
	room() int
	// take keeps room for a request of a call. giveBack ends that: a clientConn has carried the
	// request, or won't; on a sharedConn the request has begun, or won't. The caller holds the
	// pool's lock.
	take(p *connPool)
	giveBack(p *connPool)
	// running returns how many requests it carries now.
	running() int
	// idleSince returns when the last request ended, or about then, if none is running.
	idleSince() clock.Tick
	// retire makes it take no more requests. It ends when the running ones have, and gives back
	// its place in the pool then.
	retire()
	// yield is retire if no request uses it, which it reports. The place is then the caller's. It
	// doesn't wait, and the caller holds the pool's lock.
	yield() bool
}

// mayShare reports whether the host may speak a protocol whose wires calls share, as far as is known since
// speaks was first called. The pool asks it under its lock, too.
func (c *HostClient) mayShare() bool { return hostProto(c.h2.proto.Load()) > protoHTTP1 }

// mayShare reports whether k may use a wire that calls share.
func (k *call) mayShare() bool { return !k.http1 }

// mustShare reports whether k can use no other wire. Without one its error is errMustShare.
func (k *call) mustShare() bool { return k.kind == callStream }

var errMustShare = ErrNoExtendedConnect

// isShared reports whether calls share w.
func isShared(w wire) bool {
	_, alone := w.(*clientConn)
	return !alone
}

// adopt makes cc, a new connection whose place is reserved, a wire of the protocol that it speaks.
// Room on it is k's.
func (c *HostClient) adopt(k *call, cc *clientConn) wire {
	if !cc.isH2 {
		return cc
	}
	return c.adoptHTTP2(k, cc)
}

// adoptIdle is adopt for a connection whose call has ended.
func (c *HostClient) adoptIdle(cc *clientConn) {
	if !cc.isH2 {
		c.release(cc)
		return
	}
	c.adoptHTTP2(nil, cc).begin()
}

// adoptHTTP2 is adopt for HTTP/2. k may be nil.
func (c *HostClient) adoptHTTP2(k *call, cc *clientConn) *sharedConn {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.h2.proto.Store(uint32(protoHTTP2))
	hc := c.newSharedConn(cc)
	c.share(k, hc)
	return hc
}

// carryOutcome says what has become of a request that was given to a connection. An error stands
// beside it, not in its place.
type carryOutcome uint8

const (
	// carryDone: there is a response, or its head if the body is streamed. There is no error.
	carryDone carryOutcome = iota
	// carryFailed: there is an error, and the request must not be sent again.
	carryFailed
	// carryRetry: there is an error, and it makes sense to send the request again; see call.verdict.
	carryRetry
	// carryStale: the connection, which had been idle, is dead. Nothing was sent. Its place in the
	// pool is still that of the call. There is no error.
	carryStale
	// carryFull: the connection takes no more requests. Nothing was sent, and the call has no place
	// in the pool. There is no error.
	carryFull
)

// carry sends req over w and reads the response. It gives w back, unless it is stale; if the body
// is streamed, the stream does so at its end. out is req for HTTP/2, if it was prepared for that.
//
// It isn't a method of wire, because a call of a method of an interface would put k, rules and out
// on the heap.
func (c *HostClient) carry(w wire, k *call, req *Request, resp *Response, rules *readRules, out *h2Outgoing) (carryOutcome, error) {
	if hc, ok := w.(*sharedConn); ok {
		return c.carryHTTP2(hc, k, req, resp, rules, out)
	}
	return c.carryHTTP1(w.(*clientConn), k, req, resp, rules)
}

// carryOf returns what err, the error of an exchange or nil, makes of the request.
func carryOf(err error) carryOutcome {
	switch err {
	case nil:
		return carryDone
	case ErrBodyTooLarge:
		return carryFailed
	}
	return carryRetry
}
