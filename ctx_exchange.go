package gale

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// exchange is the side that brought a RequestCtx its request and that takes the response:
// an HTTP/1.1 session (h1Session), a stream of HTTP/2 (h2Stream), the server of another
// package (adaptor), a recorder of responses (galetest), or nothing (noExchange).
//
// A context calls its exchange only if a handler needs more than the messages: a plain
// request and its response make no call. The other direction has no interface. The
// session fills in the context (serverConn.beginRequest), sets reach to running, calls the
// handler, sends what serverConn.choose returns, and ends the request by
// RequestCtx.endRequest: see ctx_serving.go. If other goroutines may use the context before
// that, it calls RequestCtx.wrest.
//
// An exchange for another protocol must place these parts (exchange_toy_test.go has an
// exchange without a network):
//
//   - The protocol's name: RequestHeader.SetProtocol. TLS state: that of Conn, and
//     RequestCtx.isTLS.
//   - The body of the request: bytes, or a stream (Request.setStream), with the
//     methods of wholeReader and formReader to bound it. Its trailer section: Trailers.
//     That of the response is in Response.Header when the response ends.
//   - A reset by the peer (RST_STREAM): Done.Gone, with the error code in the cause.
//     The session itself resets a stream where h1Session aborts the connection; a
//     handler asks for that by panic(ErrAbortHandler) only.
//   - Priority (RFC 9218): a field of the request and one of the response, which the
//     session reads. Nothing in a context depends on them.
//   - Hijack: RequestCtx.granted says whether the response hands the connection over.
//     Only the stream of an extended CONNECT (RFC 8441) can be taken over, see
//     h2Tunnel. For other requests HijackNow returns an error that wraps
//     errors.ErrUnsupported.
//   - Shutdown: an exchange of a Server's connection is a servedExchange, too. Otherwise
//     connections that it hands over by HijackCounted and Upgrade aren't waited for.
type exchange interface {
	// Conn returns the connection, nil if there is none. Callers may ask for its
	// addresses and TLS state. Any goroutine may call Conn, LocalAddr, RemoteAddr, Opened
	// and Context, also when the request is over.
	Conn() net.Conn
	// Lend is called with ctx.mu held, while the handler runs, before the program gets
	// Conn: deadlines that it sets there apply to the message in flight.
	Lend()
	// LocalAddr and RemoteAddr return nil if the address isn't known.
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// Opened returns the number of the connection and the time at which it was accepted.
	// Both are zero if no Server has the connection.
	Opened() (id uint64, at time.Time)
	// Context returns the parent of the request's context, or nil.
	Context() context.Context
	// Watch calls d.Gone when the client leaves, until stop is called. When stop has
	// returned, no call is running and none will come. stop may be nil. If the request
	// has already ended, over says why. If the server shuts down, over is
	// context.Canceled, and the client is watched all the same. Watch is called with
	// ctx.mu held.
	Watch(d door.Done) (stop func(), over error)

	// SetReadDeadline and SetWriteDeadline apply to this exchange only. They are called
	// with ctx.mu held, at any time before the request is over.
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	// LimitBody makes reading the body of the request fail beyond n bytes; 0 or
	// less means no limit. It is called with ctx.mu held.
	LimitBody(ctx *RequestCtx, n int64)
	// CloseBody makes reading a streamed body fail, including a Read that runs in another
	// goroutine. It may wait for that Read. If leaves is set, goroutines of the handler may
	// go on, and what the Read is sending fails, too. CloseBody is called with ctx.mu held.
	CloseBody(ctx *RequestCtx, leaves bool)
	// Reading reports whether a goroutine is reading the body of the request, and so may
	// add the trailer section to it.
	Reading() bool
	// Trailers appends the fields of the request's trailer section to f, unless the
	// decoder of the body has done that. Before the body was read to its end there are
	// none.
	Trailers(f *msg.Fields)

	// Flush, SendInterim and HijackNow block. They are called with ctx.sendMu held
	// and not ctx.mu, one at a time, while the handler runs: part waits for them.
	//
	// Flush sends the head of the response, if it is the first call, and the body, and
	// empties the body. The response has no body stream.
	Flush(ctx *RequestCtx) error
	// SendInterim sends a response with a status from 100 to 199, except 101,
	// and the fields of h, which may be nil. The final response has not begun.
	SendInterim(ctx *RequestCtx, statusCode int, h *ResponseHeader) error
	// HijackNow gives the connection to the caller. ctx can't use it afterwards.
	HijackNow(ctx *RequestCtx) (net.Conn, error)
	// Hands says how HijackNow and Upgrade hand the connection over.
	Hands() door.Hands
	// Interrupt makes what a goroutine is sending for the handler fail, and the response with
	// it. The exchange's own goroutine calls it, by RequestCtx.wrest.
	Interrupt()
}

// reach says whether a context may use its exchange. It is guarded by RequestCtx.mu.
type reach uint8

const (
	apart   reach = iota // no handler runs: the request is being read, or there is none
	running              // the handler runs, or one of the hooks that get the context
	paused               // ExpectHandler has run, and the handler has not
	over                 // the handler can't change the response anymore
)

// bringer returns the exchange of ctx, never nil.
func (ctx *RequestCtx) bringer() exchange {
	if ctx.x == nil {
		used(ctx.loan)
		return noExchange{}
	}
	return ctx.x
}

// reaches reports whether the handler may still use the exchange. The caller holds mu.
func (ctx *RequestCtx) reaches() bool { return ctx.reach == running && ctx.timedOut.Load() == nil }

// part separates ctx from its exchange x, when other goroutines may go on using ctx:
// their calls fail from now on. It reports whether one of them is sending. If so, the
// caller must make the write fail and call awaitSend: see wrest.
func (ctx *RequestCtx) part(x exchange) (sends bool) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	x.CloseBody(ctx, true)
	ctx.reach = over
	return ctx.sends
}

// awaitSend waits until no goroutine sends for the handler. It is called after part.
func (ctx *RequestCtx) awaitSend() {
	ctx.sendMu.Lock()
	defer ctx.sendMu.Unlock()
}

// carrier is a connection given to Init2 that brings an exchange, such as those of
// packages adaptor and galetest. Only packages of this module can implement the method,
// because the type of its parameter is in an internal package. Exchange returns an
// exchange, or nil; one exchange serves one context.
type carrier interface{ Exchange(door.Seal) any }

// exchangeOf returns the exchange that a connection given to Init2 brings.
func exchangeOf(conn net.Conn) exchange {
	if c, ok := conn.(carrier); ok {
		if x, ok := c.Exchange(door.Seal{}).(exchange); ok {
			return x
		}
	}
	return noExchange{nc: conn}
}

// noExchange is the exchange of a context that no server uses: one of Init or Init2, the
// zero value, and one that waits for its next request.
type noExchange struct {
	nc   net.Conn // of Init2, or nil
	addr net.Addr // of Init
}

func (n noExchange) Conn() net.Conn { return n.nc }

func (n noExchange) LocalAddr() net.Addr {
	if n.nc == nil {
		return nil
	}
	return n.nc.LocalAddr()
}

func (n noExchange) RemoteAddr() net.Addr {
	if n.nc == nil {
		return n.addr
	}
	return n.nc.RemoteAddr()
}

func (n noExchange) SetReadDeadline(t time.Time) error {
	if n.nc == nil {
		return ErrNilConnection
	}
	return n.nc.SetReadDeadline(t)
}

func (n noExchange) SetWriteDeadline(t time.Time) error {
	if n.nc == nil {
		return ErrNilConnection
	}
	return n.nc.SetWriteDeadline(t)
}

func (noExchange) Lend()                                               {}
func (noExchange) Opened() (id uint64, at time.Time)                   { return 0, time.Time{} }
func (noExchange) Context() context.Context                            { return nil }
func (noExchange) Watch(door.Done) (stop func(), over error)           { return nil, nil }
func (noExchange) LimitBody(*RequestCtx, int64)                        {}
func (noExchange) CloseBody(*RequestCtx, bool)                         {}
func (noExchange) Reading() bool                                       { return false }
func (noExchange) Hands() door.Hands                                   { return door.HandsConn }
func (noExchange) Trailers(*msg.Fields)                                {}
func (noExchange) Flush(*RequestCtx) error                             { return ErrNilConnection }
func (noExchange) SendInterim(*RequestCtx, int, *ResponseHeader) error { return ErrNilConnection }
func (noExchange) HijackNow(*RequestCtx) (net.Conn, error)             { return nil, ErrNilConnection }
func (noExchange) Interrupt()                                          {}
