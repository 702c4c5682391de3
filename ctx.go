package gale

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// RequestCtx is one request and the response to it, with what is known of their
// connection. It is also a context.Context, see Done, Err, Value and Context.
//
// A context belongs to the server, which uses it again for other requests:
// nothing may hold it, or what its methods return, after the handler has
// returned. A handler that must leave it to another goroutine calls one of the
// TimeoutError methods before it returns. A context must not be copied, and
// must not be used by several goroutines at a time, but for TimeoutError*,
// Done, Err and Context.
//
// The zero value works as a context without a connection, see also Init.
type RequestCtx struct {
	noCopy noCopy

	// Request is what the client sent.
	Request Request
	// Response is what it gets.
	Response Response

	s    *Server
	ss   *session // nil without a connection of a Server
	conn net.Conn // of Init2

	work *engine.Work // while the handler runs: where the session is fed from
	tick clock.Tick   // when its last bytes were read; else now
	now  time.Time
	num  uint64

	remoteAddr net.Addr
	logger     Logger
	isTLS      bool

	hijack           HijackHandler
	hijackNoResponse bool
	flush            flushState
	stream           requestStream
	body             h1.Body    // decodes that of the request
	trailers         msg.Fields // of the request

	mu       sync.Mutex // of what other goroutines may touch: work, and these
	timedOut atomic.Pointer[Response]
	done     atomic.Pointer[requestDone]
}

// HijackHandler takes over a connection, see RequestCtx.Hijack.
type HijackHandler func(c net.Conn)

// noServer stands in where there is no server.
var noServer Server

func (ctx *RequestCtx) server() *Server {
	if ctx.s == nil {
		return &noServer
	}
	return ctx.s
}

// reset makes ctx ready for the next request, and keeps its buffers.
func (ctx *RequestCtx) reset() {
	ctx.Request.userValues.reset() // its closers may look at the rest
	ctx.Request.KeepBodyBuffer, ctx.Response.KeepBodyBuffer = false, false
	ctx.Request.Reset()
	ctx.Response.Reset()
	ctx.num, ctx.tick = 0, 0
	if !ctx.now.IsZero() {
		ctx.now = time.Time{}
	}
	if ctx.remoteAddr != nil {
		ctx.remoteAddr = nil
	}
	ctx.ss, ctx.work, ctx.conn = nil, nil, nil
	if ctx.hijack != nil {
		ctx.hijack, ctx.hijackNoResponse = nil, false
	}
	if ctx.flush.begun {
		ctx.flush = flushState{}
	}
	ctx.stream.owesContinue = false
	if len(ctx.trailers.Recs) > 0 {
		ctx.trailers.Reset()
	}
	if ctx.timedOut.Load() != nil {
		ctx.timedOut.Store(nil)
	}
	if ctx.done.Load() != nil {
		ctx.done.Store(nil)
	}
}

// dispose closes and removes what ctx holds beside memory.
func (ctx *RequestCtx) dispose() {
	ctx.Request.userValues.reset()
	ctx.Request.removeForm()
	_ = ctx.Request.closeStream(nil)
	_ = ctx.Response.closeStream(nil)
}

// Init makes ctx a context for req without a connection, for tests and for
// handlers that are called without a server. req may be nil. remoteAddr may be
// nil, logger too.
func (ctx *RequestCtx) Init(req *Request, remoteAddr net.Addr, logger Logger) {
	if remoteAddr == nil {
		remoteAddr = zeroTCPAddr
	}
	ctx.Init2(&noConn{addr: remoteAddr}, logger, true)
	if req != nil {
		req.CopyTo(&ctx.Request)
	}
}

// Init2 makes ctx a context for conn without a server. reduceMemoryUsage is of
// no effect.
func (ctx *RequestCtx) Init2(conn net.Conn, logger Logger, reduceMemoryUsage bool) {
	ctx.reset()
	ctx.conn = conn
	ctx.s = &noServer
	ctx.logger = logger
	ctx.now = time.Now()
	_, ctx.isTLS = conn.(*tls.Conn)
}

// noConn is the connection of a context without one.
type noConn struct {
	net.Conn
	addr net.Addr
}

func (c *noConn) RemoteAddr() net.Addr { return c.addr }
func (c *noConn) LocalAddr() net.Addr  { return zeroTCPAddr }

var zeroTCPAddr = &net.TCPAddr{IP: net.IPv4zero}

// netConn returns the connection, nil if there is none.
func (ctx *RequestCtx) netConn() net.Conn {
	if ctx.ss != nil {
		return ctx.ss.nc
	}
	return ctx.conn
}

// Conn returns the connection of the request, which the server goes on using:
// don't read from it nor write to it; see Hijack for that. It is nil for a
// context without one.
func (ctx *RequestCtx) Conn() net.Conn {
	c := ctx.netConn()
	if _, ok := c.(*noConn); ok {
		return nil
	}
	return c
}

// ConnID returns a number that no other connection of the process has.
func (ctx *RequestCtx) ConnID() uint64 {
	if ctx.ss == nil {
		return 0
	}
	return ctx.ss.id
}

// ConnRequestNum returns which request of its connection this is, counted
// from 1; 0 for a context without a server.
func (ctx *RequestCtx) ConnRequestNum() uint64 { return ctx.num }

// ConnTime returns when the server got the connection.
func (ctx *RequestCtx) ConnTime() time.Time {
	if ctx.ss == nil {
		return ctx.now
	}
	return ctx.ss.opened
}

// ID returns a number that no other request of the process has, as long as
// connections carry less than 2^32 requests.
func (ctx *RequestCtx) ID() uint64 { return ctx.ConnID()<<32 | ctx.num&0xffffffff }

// Time returns when the last bytes of the request were read; with
// Server.LazyRequestTime, when it was called first. Of pipelined requests that
// came at once, the later ones may have waited for earlier ones since.
func (ctx *RequestCtx) Time() time.Time {
	if ctx.tick != 0 {
		return ctx.tick.Time()
	}
	if ctx.now.IsZero() {
		ctx.now = time.Now()
	}
	return ctx.now
}

// IsTLS reports whether the connection is a TLS one.
func (ctx *RequestCtx) IsTLS() bool {
	if ctx.isTLS {
		return true
	}
	c, ok := ctx.netConn().(interface{ ConnectionState() tls.ConnectionState })
	return ok && c != nil
}

// TLSConnectionState returns the state of the TLS connection, nil for others.
func (ctx *RequestCtx) TLSConnectionState() *tls.ConnectionState {
	c, ok := ctx.netConn().(interface{ ConnectionState() tls.ConnectionState })
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
	if c := ctx.netConn(); c != nil {
		if a := c.RemoteAddr(); a != nil {
			return a
		}
	}
	return zeroTCPAddr
}

// SetRemoteAddr makes RemoteAddr and RemoteIP tell of addr, for servers behind
// a proxy. nil brings the address of the connection back.
func (ctx *RequestCtx) SetRemoteAddr(addr net.Addr) { ctx.remoteAddr = addr }

// LocalAddr returns the server's address of the connection, never nil.
func (ctx *RequestCtx) LocalAddr() net.Addr {
	if c := ctx.netConn(); c != nil {
		if a := c.LocalAddr(); a != nil {
			return a
		}
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

// String describes the request for logs: its ID, both addresses, method and
// URI.
func (ctx *RequestCtx) String() string {
	return fmt.Sprintf("#%016X - %s<->%s - %s %s", ctx.ID(), ctx.LocalAddr(), ctx.RemoteAddr(),
		ctx.Request.Header.Method(), ctx.URI().FullURI())
}

// SetReadDeadline sets until when the rest of the request body must have
// arrived, in place of what Server.ReadTimeout says. The zero time means never.
func (ctx *RequestCtx) SetReadDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, false)
}

// SetWriteDeadline sets until when the response must be written, in place of
// what Server.WriteTimeout says. The zero time means never.
func (ctx *RequestCtx) SetWriteDeadline(deadline time.Time) error {
	return ctx.setDeadline(deadline, true)
}

func (ctx *RequestCtx) setDeadline(deadline time.Time, write bool) error {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.timedOut.Load() != nil {
		return ErrDeadlineUpdatesDisabled
	}
	nc := ctx.Conn()
	if nc == nil {
		return ErrNilConnection
	}
	ss := ctx.ss
	switch {
	case ss == nil && write:
		return nc.SetWriteDeadline(deadline)
	case ss == nil:
		return nc.SetReadDeadline(deadline)
	case write:
		ss.writeDeadline(deadline)
	default:
		ss.bodyDeadline = clock.TickOf(deadline)
	}
	return nil
}
