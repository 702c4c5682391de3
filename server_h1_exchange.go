package gale

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// A session is the exchange of the message in flight; see exchange. A context that was
// left to other goroutines may call only the methods about the connection.
var _ exchange = (*h1Session)(nil)

// Conn returns the connection.
func (ss *h1Session) Conn() net.Conn { return ss.nc }

// Lend makes the connection's deadlines apply to the message in flight. A Read of another
// goroutine may be writing at the same time.
func (ss *h1Session) Lend() {
	ss.change()
	ss.cfg.writeNow = true
	ss.ctx.stream.out.Lock()
	defer ss.ctx.stream.unlock(ss, ss.ctx.work)
	ss.c.Lend()
}

// LocalAddr and RemoteAddr return the addresses of the connection.
func (ss *h1Session) LocalAddr() net.Addr  { return ss.nc.LocalAddr() }
func (ss *h1Session) RemoteAddr() net.Addr { return ss.nc.RemoteAddr() }

// Opened returns the number of the connection and the time at which it was accepted.
func (ss *h1Session) Opened() (id uint64, at time.Time) { return ss.id, ss.opened.Time() }

// Context returns the connection's context that BaseContext and ConnContext made, or nil.
func (ss *h1Session) Context() context.Context { return ss.parent() }

// Watch calls d.Gone when the client leaves.
func (ss *h1Session) Watch(d door.Done) (stop func(), over error) {
	if ss.over() {
		over = context.Canceled
	}
	return ss.c.Watch(func(reset bool) { d.Gone(ErrClientGone, reset) }), over
}

// SetReadDeadline overrides the read timeout for the request in flight.
func (ss *h1Session) SetReadDeadline(t time.Time) error {
	ss.due = clock.TickOf(t)
	if ss.hasBody && ss.cfg.stream {
		ss.ctx.stream.until.Store(int64(ss.due))
	}
	return nil
}

// SetWriteDeadline overrides the write timeout for the response in flight.
func (ss *h1Session) SetWriteDeadline(t time.Time) error {
	ss.change()
	ss.cfg.writeTimeout, ss.cfg.writeUntil = 0, clock.TickOf(t)
	ss.cfg.writeNow = true
	return nil
}

// stallLimit is for door.Serving.WriteStall.
func (ss *h1Session) stallLimit() time.Duration { return ss.cfg.writeStall }

// LimitBody limits how much of a streamed body can be read.
func (ss *h1Session) LimitBody(ctx *RequestCtx, n int64) {
	ctx.stream.used = true
	ctx.stream.limit.Store(n)
}

// CloseBody ends the reading of a streamed body.
func (ss *h1Session) CloseBody(ctx *RequestCtx) { ss.closeBody(ctx) }

// Trailers does nothing: the decoder of the body appends to ctx.trailers.
func (ss *h1Session) Trailers(*msg.Fields) {}

// Flush sends the head, if it is the first call, and the body.
func (ss *h1Session) Flush(ctx *RequestCtx) error {
	w, resp := ctx.work, &ctx.Response
	f := &ctx.flush
	ctx.stream.out.Lock()
	defer ctx.stream.unlock(ss, w)
	ss.boundWrites()
	if !f.begun {
		ss.beginFlush(ctx, w, resp)
	}
	err := f.out.writePart(resp.bodyBytes())
	resp.ResetBody()
	if err == nil {
		err = ss.c.Flush(w)
	}
	if err != nil {
		ss.fault(err)
	}
	return err
}

// SendInterim sends an informational response (RFC 9110 section 15.2). HTTP/1.0 clients
// get none.
func (ss *h1Session) SendInterim(ctx *RequestCtx, statusCode int, h *ResponseHeader) error {
	if ss.req.minor == 0 {
		return nil
	}
	w := ctx.work
	ctx.stream.out.Lock()
	defer ctx.stream.unlock(ss, w)
	if statusCode == StatusContinue {
		ctx.stream.excuse()
	}
	var fields *head.Response
	if h != nil {
		fields = &h.s
	}
	w.Out = h1.AppendInterimHead(w.Out, statusCode, fields)
	w.Out = append(w.Out, "\r\n"...)
	ss.boundWrites()
	err := ss.c.Flush(w)
	if err != nil {
		ss.fault(err)
	}
	return err
}

var errHijackReading = errors.New("gale: the connection can't be hijacked while another goroutine reads the body of the request")

// HijackNow sends the responses to earlier requests and takes the connection out of
// the engine.
func (ss *h1Session) HijackNow(ctx *RequestCtx) (nc net.Conn, err error) {
	if ss.hasBody && ss.cfg.stream {
		if !ctx.stream.tryYield() {
			return nil, errHijackReading
		}
		defer func() {
			if err != nil {
				ss.lost = true // what is unread again belongs to this request
			}
		}()
	}
	if err := ss.c.Flush(ctx.work); err != nil {
		return nil, err
	}
	if nc, err = ss.detach(ctx); err != nil {
		return nil, err
	}
	told := false
	defer func() {
		if !told { // ConnState does not return, so no function gets nc
			_ = closeCalmly(nc)
		}
	}()
	ss.setState(StateHijacked)
	told = true
	return nc, nil
}

// Interrupt makes writes to the connection fail, which then can't be used again.
func (ss *h1Session) Interrupt() {
	ss.c.InterruptWrites()
	ss.aborted = true
}

// detach takes the connection out of the engine. ctx can't use it any more.
func (ss *h1Session) detach(ctx *RequestCtx) (net.Conn, error) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if !ctx.reaches() {
		return nil, ErrNilConnection
	}
	nc, err := ss.c.Detach(ctx.work)
	if err != nil {
		return nil, err
	}
	ctx.work, ctx.reach, ctx.sends = nil, over, false
	ctx.detachDone()
	if ss.over() {
		ctx.done.Load().hurry()
	}
	ss.detached, ss.bare = true, false
	return nc, nil
}
