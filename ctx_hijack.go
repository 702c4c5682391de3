package gale

import "net"

// HijackHandler takes over a connection, see RequestCtx.Hijack.
type HijackHandler func(c net.Conn)

// Hijack takes the connection away from the server: once the response is
// written, handler gets it, with the bytes that came after the request still to be read
// from it. The connection is closed when handler returns, unless Server.KeepHijackedConns
// is set. handler must not use ctx.
//
// The server neither counts nor closes hijacked connections any more.
func (ctx *RequestCtx) Hijack(handler HijackHandler) { ctx.hijack = handler }

// HijackSetNoResponse says whether a hijacked connection gets no response
// from the server: handler writes one itself then.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) { ctx.hijackNoResponse = noResponse }

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool { return ctx.hijack != nil }

// HijackNow takes the connection away from the server at once and returns it,
// with the bytes that came after what was read of the request still to be read from it,
// and without deadlines. It belongs to the caller, who closes it: it may be used on after
// the handler has returned, and Server.KeepHijackedConns has no effect. No response is
// sent; what Flush has sent before stays sent, and a request body that is streamed can't
// be read any more.
//
// It returns ErrNilConnection where there is no connection of a server, for
// contexts that were timed out and at a second call, and an error of the
// connection where responses to earlier requests can't be written. Not in
// fasthttp.
func (ctx *RequestCtx) HijackNow() (nc net.Conn, err error) {
	err = ctx.send(func(x exchange) error {
		nc, err = x.HijackNow(ctx)
		return err
	})
	return nc, err
}
