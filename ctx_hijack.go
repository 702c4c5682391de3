package gale

import "net"

// HijackHandler takes over a connection; see RequestCtx.Hijack.
type HijackHandler func(c net.Conn)

// Hijack takes the connection away from the server. After the response is written, the
// server calls handler with the connection. Bytes that the client sent after the request
// can be read from it. The connection is closed when handler returns, unless
// Server.KeepHijackedConns is set. handler must not use ctx. Over HTTP/2 the client gets
// 501, because a stream is not a connection.
//
// The server no longer counts hijacked connections, and doesn't close them when it shuts
// down.
func (ctx *RequestCtx) Hijack(handler HijackHandler) {
	used(ctx.loan)
	ctx.hijack = handler
}

// HijackSetNoResponse says whether the server sends no response on a hijacked connection.
// If noResponse is true, the HijackHandler must write one.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) {
	used(ctx.loan)
	ctx.hijackNoResponse = noResponse
}

// Hijacked reports whether Hijack was called.
func (ctx *RequestCtx) Hijacked() bool {
	used(ctx.loan)
	return ctx.hijack != nil
}

// HijackNow takes the connection away from the server at once and returns it, without
// deadlines. Bytes that the client sent after the part of the request that was read can
// be read from it. The connection belongs to the caller, who must close it. It may be
// used after the handler has returned; Server.KeepHijackedConns has no effect on it. The
// server sends no response, except what Flush has sent before. A streamed request body
// can't be read anymore.
//
// It returns ErrNilConnection if ctx has no connection of a server, if it was timed out,
// and at a second call. It returns the error of the connection if responses to earlier
// requests can't be written. Over HTTP/2 it returns an error that wraps
// errors.ErrUnsupported.
func (ctx *RequestCtx) HijackNow() (nc net.Conn, err error) {
	err = ctx.send(func(x exchange) error {
		nc, err = x.HijackNow(ctx)
		return err
	})
	return nc, err
}
