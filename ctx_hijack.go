package gale

import (
	"net"

	"github.com/galehttp/gale/internal/engine"
)

// HijackHandler takes over a connection; see RequestCtx.Hijack.
type HijackHandler func(c net.Conn)

// Hijack takes the connection away from the server. After the response is written, the
// server calls handler with the connection. Bytes that the client sent after the request
// can be read from it. The connection is closed when handler returns, unless
// Server.KeepHijackedConns is set. handler must not use ctx.
//
// Over HTTP/2, only the stream of an extended CONNECT can be taken over; see
// [HTTP2Config.WebSocket]. If the response has a 2xx status, its head is sent, and handler gets
// the stream as a connection: it reads and writes the data of the stream, deadlines affect
// nothing else, io.EOF says that the client has ended its side, and a [StreamResetError] that
// it has reset the stream. CloseWrite ends the server's side. Close does that, too, and
// resets the stream if the client sends more; after SetLinger(0) it resets it at once. With another status the response is sent as a
// whole, and handler isn't called. Shutdown waits for such streams, and Close ends them. For
// any other request of HTTP/2 the client gets 501.
//
// The server no longer counts hijacked connections of HTTP/1.1, and doesn't close them when
// it shuts down. HijackCounted and Upgrade are for connections that it goes on to count.
func (ctx *RequestCtx) Hijack(handler HijackHandler) {
	used(ctx.loan)
	ctx.hijack, ctx.upgrade, ctx.counted = handler, nil, false
}

// HijackCounted is like Hijack, but the server goes on to count the connection until
// handler has returned: in Stats, MaxConnsPerIP and Concurrency. The ConnState stays
// StateActive until it becomes StateClosed, and Shutdown waits for handler. Close closes
// the connection. When handler has returned, the server closes the connection, whatever
// Server.KeepHijackedConns says.
//
// When the server begins to drain or to stop, it calls leave, once, on a goroutine of its
// own; if it does so already, it calls leave when handler begins. leave should make handler
// end, for example by a message to the peer or a read deadline. It may run at the same time
// as handler, and after it. nil means that nothing is called. Panics of handler and leave
// are logged.
func (ctx *RequestCtx) HijackCounted(handler HijackHandler, leave func()) {
	if handler == nil {
		ctx.Hijack(nil)
		return
	}
	s, l := ctx.server(), ctx.listening()
	ctx.Hijack(func(nc net.Conn) {
		defer nc.Close()
		defer s.countTaken(l, leave, func() { engine.CloseNow(nc) })()
		handler(nc)
	})
	ctx.counted = true
}

// HijackSetNoResponse says whether the server sends no response on a hijacked connection.
// If noResponse is true, the HijackHandler must write one. It has no effect after Upgrade,
// and over HTTP/2.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) {
	used(ctx.loan)
	ctx.hijackNoResponse = noResponse && ctx.upgrade == nil
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
// requests can't be written. Over HTTP/2 it sends the head of the response to an extended
// CONNECT, whose status must be 2xx, and returns the stream, as described at Hijack. For any
// other request of HTTP/2 it returns an error that wraps errors.ErrUnsupported.
func (ctx *RequestCtx) HijackNow() (nc net.Conn, err error) {
	if s, ok := ctx.bringer().(*h2Stream); ok && s.extended {
		if err := ctx.beforeFlush(); err != nil {
			return nil, err
		}
	}
	err = ctx.send(func(x exchange) error {
		nc, err = x.HijackNow(ctx)
		return err
	})
	return nc, err
}
