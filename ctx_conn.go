package gale

import (
	"crypto/tls"
	"net"
	"time"
)

// Conn returns the connection of the request, which the server goes on using:
// don't read from it nor write to it; see Hijack for that. It is nil for a
// context without one.
//
// Deadlines that a handler sets on it hold for the message in flight, from the
// call of Conn on: a read deadline for what is read of a streamed body, a write
// deadline for Flush, for body streams and for the response as it is sent after the
// handler. What is late fails with an error whose Timeout method returns true.
// They don't lift the limits of the server, and end with the response. See
// SetReadDeadline and SetWriteDeadline for deadlines in place of those limits.
// Once Conn was called, the response does not wait for those of pipelined
// requests. Conn must not be called while another goroutine sends.
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

// ConnRequestNum returns which request of its connection this is, counted
// from 1; 0 for a context without a server.
func (ctx *RequestCtx) ConnRequestNum() uint64 { return ctx.num }

// ConnTime returns when the server got the connection.
func (ctx *RequestCtx) ConnTime() time.Time {
	if _, at := ctx.bringer().Opened(); !at.IsZero() {
		return at
	}
	return ctx.now
}

// IsTLS reports whether the connection is a TLS one.
func (ctx *RequestCtx) IsTLS() bool {
	if ctx.isTLS {
		return true
	}
	_, ok := ctx.bringer().Conn().(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// TLSConnectionState returns the state of the TLS connection, nil for others.
func (ctx *RequestCtx) TLSConnectionState() *tls.ConnectionState {
	c, ok := ctx.bringer().Conn().(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	st := c.ConnectionState()
	return &st
}

// RemoteAddr returns the address of the client, never nil. It stays readable.
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
func (ctx *RequestCtx) SetRemoteAddr(addr net.Addr) { ctx.remoteAddr = addr }

// LocalAddr returns the server's address of the connection, never nil.
func (ctx *RequestCtx) LocalAddr() net.Addr {
	if a := ctx.bringer().LocalAddr(); a != nil {
		return a
	}
	return zeroTCPAddr
}

// RemoteIP returns the IP address of the client, 0.0.0.0 if it has none.
func (ctx *RequestCtx) RemoteIP() net.IP { return addrIP(ctx.RemoteAddr()) }

// LocalIP returns the server's IP address, 0.0.0.0 if it has none.
func (ctx *RequestCtx) LocalIP() net.IP { return addrIP(ctx.LocalAddr()) }

func addrIP(a net.Addr) net.IP {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP
	}
	return net.IPv4zero
}

// SetReadDeadline sets until when the rest of the request body must have
// arrived, in place of what Server.ReadTimeout says. The zero time means never.
// Server.ReadStallTimeout holds beside it. It is for this request alone.
func (ctx *RequestCtx) SetReadDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, exchange.SetReadDeadline)
}

// SetWriteDeadline sets until when the response must be written, in place of
// what Server.WriteTimeout says. The zero time means never.
// Server.WriteStallTimeout holds beside it. It is for this response alone.
func (ctx *RequestCtx) SetWriteDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, exchange.SetWriteDeadline)
}

func (ctx *RequestCtx) setDeadline(deadline time.Time, set func(exchange, time.Time) error) error {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.timedOut.Load() != nil || ctx.reach == over {
		return ErrDeadlineUpdatesDisabled
	}
	return set(ctx.bringer(), deadline)
}
