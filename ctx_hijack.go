package gale

import (
	"net"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
)

// HijackHandler takes over a connection; see RequestCtx.Hijack.
type HijackHandler func(c net.Conn)

// Hijack takes the connection away from the server. After the response is written, the
// server calls handler with the connection. Bytes that the client sent after the request
// can be read from it. If the handler left a part of a streamed body unread, the server reads
// and drops up to 256 KiB; if there is more, the connection is closed after the response, and
// handler isn't called. The connection is closed when handler returns, unless
// Server.KeepHijackedConns is set. handler must not use ctx.
//
// The response that is sent decides. If it refuses the client, it is an ordinary response,
// and handler isn't called. It grants the connection if its status is 101, or the one that
// was set when Hijack was called, or, unless that was 101, any status from 200 to 299. So
// after a status of 101 and Hijack only a 101 opens the connection, and a middleware or a
// function of BeforeSend can refuse with 403. "Connection: close" in the response or in the
// request, a timeout, a panic, Fail, Error, NotFound, NotModified and Redirect refuse, too, and
// so does a body that ends with the connection: a stream of unknown length over HTTP/1.0.
// A status of 101 with "Connection: close" becomes 503, or 400 if the request asks for that
// or is HTTP/1.0. A function of BeforeSend can refuse, but not ask: in it, Hijack has no effect,
// except with a nil handler, which undoes an earlier call.
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
	if handler != nil && ctx.asksLate() {
		return
	}
	h := &ctx.handover
	*h = handover{to: handler, status: int32(ctx.Response.StatusCode()), silent: h.silent}
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
	if ctx.asksLate() {
		return
	}
	s, l := ctx.server(), ctx.listening()
	ctx.Hijack(func(nc net.Conn) {
		defer nc.Close()
		defer s.countTaken(l, leave, func() { engine.CloseNow(nc) })()
		handler(nc)
	})
	h := &ctx.handover
	h.counted = true
	h.silent = h.silent && !h.switches()
}

// HijackSetNoResponse says whether the server sends no response on a hijacked connection.
// If noResponse is true, the HijackHandler must write one, and gets the unread part of a
// streamed body, too. A response that Flush has begun is completed all the same. One that refuses the
// client, see Hijack, is sent, and the HijackHandler isn't called. HijackSetNoResponse has
// no effect after Upgrade, after HijackCounted of a response with status 101, and over HTTP/2.
func (ctx *RequestCtx) HijackSetNoResponse(noResponse bool) {
	used(ctx.loan)
	h := &ctx.handover
	h.silent = noResponse && !h.switches()
}

// Hijacked reports whether Hijack was called, and not undone since by Fail, Error and the
// like.
func (ctx *RequestCtx) Hijacked() bool {
	used(ctx.loan)
	return ctx.handover.to != nil
}

// handover is what a handler has asked for: a function gets the connection, or the stream
// of an extended CONNECT, after the response.
type handover struct {
	to      HijackHandler  // nil if nothing was asked for
	upgrade UpgradeHandler // to is from Upgrade
	status  int32          // of the response when it was asked for
	counted bool           // to is from HijackCounted
	silent  bool           // see HijackSetNoResponse; may be set while to is nil
}

// asksLate reports whether a function of BeforeSend runs. After a timeout, or of a detached
// context, it could not ask for the connection, so it can't at other times.
func (ctx *RequestCtx) asksLate() bool { return ctx.hookStage.Load() == hooksRunning }

// switches reports whether the handover needs the response by which the client learns of it.
func (h *handover) switches() bool {
	return h.upgrade != nil || h.counted && h.status == StatusSwitchingProtocols
}

// place is what a handover would give to the program.
type place uint8

const (
	placeConn   place = iota // a connection of HTTP/1
	placeTunnel              // a connection that a 2xx makes a tunnel: the method is CONNECT
	placeStream              // the stream of an extended CONNECT
)

// asksHandover reports whether the handler has asked for the connection. After a timeout it
// doesn't look at what a late handler may be changing.
func (ctx *RequestCtx) asksHandover() bool {
	return ctx.timedOut.Load() == nil && ctx.handover.to != nil
}

// granted reports whether the handler has asked for the connection and resp, which will be
// sent, lets that happen. Each exchange asks it, when the functions of BeforeSend have run.
func (ctx *RequestCtx) granted(resp *Response, p place) bool {
	if !ctx.asksHandover() {
		return false
	}
	h := &ctx.handover
	status := resp.sendableStatus()
	if ctx.flush.begun {
		status = int(ctx.flush.status) // what the client has got, whatever the handler has set since
	}
	success := status/100 == 2
	switch {
	case ctx.flush.begun && !success:
		return false
	case p == placeStream:
		return success
	case resp.ConnectionClose():
		return false
	case p == placeTunnel && success, status == StatusSwitchingProtocols:
		return h.upgrade == nil || !ctx.flush.begun
	case h.upgrade != nil, h.status == StatusSwitchingProtocols, status < 200:
		return false
	}
	return success || status == int(h.status)
}

// wantsSwitch reports whether the response is a 101 that hands the connection over, if
// nothing is against it.
func (ctx *RequestCtx) wantsSwitch() bool {
	return ctx.asksHandover() && ctx.Response.StatusCode() == StatusSwitchingProtocols && !ctx.flush.begun
}

// refuseSwitch replaces a 101 that the client can't get: HTTP/1.0, see old, has none (RFC 9110
// section 15.2), and a connection that ends after the response, because the request asks for that,
// see closes, or the response says so, doesn't go on with another protocol.
func (ctx *RequestCtx) refuseSwitch(closes, old bool) {
	switch {
	case !ctx.wantsSwitch():
	case closes, old && !ctx.handover.silent:
		ctx.refuseHandover(StatusBadRequest)
	case ctx.Response.ConnectionClose():
		ctx.refuseHandover(StatusServiceUnavailable)
	}
}

// refuseHijack makes the answer, 501, for a handler that called Hijack or Upgrade for a
// request of HTTP/2 other than an extended CONNECT, unless its response refuses the client anyway. It
// returns false if a part of the response was flushed.
func (ctx *RequestCtx) refuseHijack() (ok bool) {
	p := placeConn
	if ctx.handover.upgrade != nil {
		p = placeTunnel // a handler for an extended CONNECT has not looked at the method
	}
	if !ctx.granted(&ctx.Response, p) {
		return true
	}
	ctx.server().logError(ctx.bringer().Conn(), "serving", errH2Hijack)
	if ctx.flush.begun {
		ctx.keepConn()
		return false
	}
	ctx.refuseHandover(StatusNotImplemented)
	return true
}

// refuseHandover makes the response an error instead of one that hands the connection over.
// It keeps the headers.
func (ctx *RequestCtx) refuseHandover(status int) {
	ctx.keepConn()
	ctx.Response.dropContent()
	ctx.SetStatusCode(status)
	if ctx.isDetached() { // the request, in which errorBody looks, belongs to the program
		ctx.Response.Header.SetContentType(plainText)
		ctx.Response.Header.Set(HeaderXContentTypeOptions, "nosniff")
		ctx.Response.SetBodyString(StatusMessage(status))
		return
	}
	ctx.errorBody(status, "")
}

// keepConn undoes Hijack and the like.
func (ctx *RequestCtx) keepConn() { ctx.handover = handover{} }

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
	if ctx.bringer().Hands() == door.HandsStream {
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
