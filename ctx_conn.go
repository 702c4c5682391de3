package gale

import (
	"crypto/tls"
	"net"
	"time"
)

// Conn returns the connection of the request, or nil if there is none. The server goes on
// using it: don't read from it and don't write to it. See Hijack for that.
//
// Deadlines that a handler sets on the connection apply to this request and its response,
// beginning with the call of Conn. A read deadline applies to reading a streamed body. A
// write deadline applies to Flush, to body streams, and to the response that is sent
// after the handler. An operation that is late fails with an error whose Timeout method
// returns true. These deadlines come in addition to the timeouts of the server, and end
// with the response. See SetReadDeadline and SetWriteDeadline for deadlines that replace
// those timeouts.
//
// After a call of Conn, the response is not held back to be sent together with those of
// later pipelined requests. Don't call Conn while another goroutine sends.
//
// The connection is borrowed: don't use it after the handler returns. It doesn't end with the
// request, and nothing finds a late use. No other connection gets the same object. But as
// long as the connection is open, a late Read may take bytes of a later request on it, a late
// Write may get into a later response, and a late deadline or Close may end later requests.
func (ctx *RequestCtx) Conn() net.Conn {
	x := ctx.bringer()
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.reaches() {
		x.Lend()
	}
	return x.Conn()
}

// ConnID returns a number that no other connection of the process has.
func (ctx *RequestCtx) ConnID() uint64 {
	id, _ := ctx.bringer().Opened()
	return id
}

// ConnRequestNum returns the number of this request on its connection, counted from 1. It
// is 0 for a context without a server.
func (ctx *RequestCtx) ConnRequestNum() uint64 {
	used(ctx.loan)
	return ctx.num
}

// ConnTime returns the time at which the server got the connection.
func (ctx *RequestCtx) ConnTime() time.Time {
	if _, at := ctx.bringer().Opened(); !at.IsZero() {
		return at
	}
	return ctx.now
}

// IsTLS reports whether the connection uses TLS.
func (ctx *RequestCtx) IsTLS() bool {
	if ctx.isTLS {
		return true
	}
	_, ok := ctx.bringer().Conn().(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// TLSConnectionState returns the state of the TLS connection, nil for connections without
// TLS.
func (ctx *RequestCtx) TLSConnectionState() *tls.ConnectionState {
	c, ok := ctx.bringer().Conn().(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	st := c.ConnectionState()
	return &st
}

// RemoteAddr returns the address of the client, never nil. The address is still valid
// after the handler returns.
func (ctx *RequestCtx) RemoteAddr() net.Addr {
	if ctx.remoteAddr != nil {
		return ctx.remoteAddr
	}
	if a := ctx.bringer().RemoteAddr(); a != nil {
		return a
	}
	return zeroTCPAddr
}

// SetRemoteAddr makes RemoteAddr and RemoteIP return addr, for servers behind a proxy.
// nil restores the address of the connection.
func (ctx *RequestCtx) SetRemoteAddr(addr net.Addr) {
	used(ctx.loan)
	ctx.remoteAddr = addr
}

// LocalAddr returns the address of the server's side of the connection, never nil.
func (ctx *RequestCtx) LocalAddr() net.Addr {
	if a := ctx.bringer().LocalAddr(); a != nil {
		return a
	}
	return zeroTCPAddr
}

// RemoteIP returns the IP address of RemoteAddr, 0.0.0.0 if it has none.
func (ctx *RequestCtx) RemoteIP() net.IP { return addrIP(ctx.RemoteAddr()) }

// LocalIP returns the IP address of LocalAddr, 0.0.0.0 if it has none.
func (ctx *RequestCtx) LocalIP() net.IP { return addrIP(ctx.LocalAddr()) }

func addrIP(a net.Addr) net.IP {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP
	}
	return net.IPv4zero
}

// SetReadDeadline sets the time by which the rest of the request body must have arrived.
// It replaces Server.ReadTimeout for this request. The zero time means no deadline.
// Server.ReadStallTimeout applies too.
func (ctx *RequestCtx) SetReadDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, exchange.SetReadDeadline)
}

// SetWriteDeadline sets the time by which the response must be written. It replaces
// Server.WriteTimeout for this response. The zero time means no deadline.
// Server.WriteStallTimeout applies too.
func (ctx *RequestCtx) SetWriteDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, exchange.SetWriteDeadline)
}

func (ctx *RequestCtx) setDeadline(deadline time.Time, set func(exchange, time.Time) error) error {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.timedOut.Load() != nil || ctx.reach == over {
		return ctx.unreachable(ErrDeadlineUpdatesDisabled, errAnsweredDeadline)
	}
	return set(ctx.bringer(), deadline)
}
