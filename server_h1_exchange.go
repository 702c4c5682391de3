package gale

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// A session is the exchange of the message in flight, see exchange. Where a context
// that was left to others calls a method, that is about the connection alone.
var _ exchange = (*h1Session)(nil)

// Conn returns the connection.
func (ss *h1Session) Conn() net.Conn { return ss.nc }

// Lend makes the deadlines of the connection bound the message in flight.
func (ss *h1Session) Lend() {
	ss.change()
	ss.cfg.writeNow = true
	ss.c.Lend()
}

// LocalAddr and RemoteAddr are those of the connection.
func (ss *h1Session) LocalAddr() net.Addr  { return ss.nc.LocalAddr() }
func (ss *h1Session) RemoteAddr() net.Addr { return ss.nc.RemoteAddr() }

// Opened returns the number of the connection and when it came.
func (ss *h1Session) Opened() (id uint64, at time.Time) { return ss.id, ss.opened }

// Context returns what the hooks made the context of the connection, or nil.
func (ss *h1Session) Context() context.Context { return ss.parent() }

// Watch makes d learn when the client leaves.
func (ss *h1Session) Watch(d door.Done) (stop func(), over error) {
	if ss.c.Stopping() {
		return nil, context.Canceled
	}
	return ss.c.Watch(func(reset bool) { d.Gone(ErrClientGone, reset) }), nil
}

// SetReadDeadline overrides the read time-out for the request in flight.
func (ss *h1Session) SetReadDeadline(t time.Time) error {
	ss.due = clock.TickOf(t)
	return nil
}

// SetWriteDeadline overrides the write time-out for the response in flight.
func (ss *h1Session) SetWriteDeadline(t time.Time) error {
	ss.change()
	ss.cfg.writeTimeout, ss.cfg.writeUntil = 0, clock.TickOf(t)
	ss.cfg.writeNow = true
	return nil
}

// LimitBody bounds what is read of a streamed body.
func (ss *h1Session) LimitBody(ctx *RequestCtx, n int64) { ctx.stream.limit = n }

// CloseBody ends the reading of a streamed body.
func (ss *h1Session) CloseBody(ctx *RequestCtx) { ss.closeBody(ctx) }

// Trailers has nothing to do: the decoder of the body appends to ctx.trailers.
func (ss *h1Session) Trailers(*msg.Fields) {}

// Flush sends the head, the first time, and the body.
func (ss *h1Session) Flush(ctx *RequestCtx) error {
	w, resp := ctx.work, &ctx.Response
	f := &ctx.flush
	ss.boundWrites()
	if !f.begun {
		ss.beginFlush(ctx, w, resp)
	}
	_, err := f.out.Write(resp.bodyBytes())
	resp.ResetBody()
	if err != nil {
		ss.err = err
		return err
	}
	return ss.c.Flush(w)
}

// SendInterim sends an informational response (RFC 9110 section 15.2). Clients of
// HTTP/1.0 get none.
func (ss *h1Session) SendInterim(ctx *RequestCtx, statusCode int, h *ResponseHeader) error {
	if ss.req.minor == 0 {
		return nil
	}
	if statusCode == StatusContinue {
		ctx.stream.excuse()
	}
	w := ctx.work
	var fields *head.Response
	if h != nil {
		fields = &h.s
	}
	w.Out = h1.AppendInterimHead(w.Out, statusCode, fields)
	w.Out = append(w.Out, "\r\n"...)
	ss.boundWrites()
	err := ss.c.Flush(w)
	if err != nil {
		ss.err = err
	}
	return err
}

// HijackNow sends the responses to earlier requests and takes the connection out of
// the engine.
func (ss *h1Session) HijackNow(ctx *RequestCtx) (net.Conn, error) {
	if err := ss.c.Flush(ctx.work); err != nil {
		return nil, err
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if !ctx.reaches() {
		return nil, ErrNilConnection
	}
	ss.closeBody(ctx)
	nc, err := ss.c.Detach(ctx.work)
	if err != nil {
		return nil, err
	}
	ctx.work, ctx.reach, ctx.sends = nil, over, false // nothing reaches the connection through ctx any more
	ctx.detachDone()
	if ss.c.Stopping() {
		ctx.done.Load().cancel(context.Canceled)
	}
	ss.detached, ss.bare = true, false
	ss.setState(StateHijacked)
	return nc, nil
}
