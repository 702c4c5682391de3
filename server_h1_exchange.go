package gale

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h1Message is a request of HTTP/1.1 with its response: the context, and what only an h1Session
// keeps for them. It is in the workspace of the engine between messages, so that an idle connection
// holds none. Goroutines that the context was left to keep all of it.
type h1Message struct {
	ctx    RequestCtx
	work   *engine.Work // where the session is fed from; valid while ctx.reach is running
	stream requestStream
	body   h1.Body // decodes the body of the request

	// Of a response that Flush has begun:
	keep bool // the connection may be used again
	out  bodyOut
}

// reset makes m ready for the next message, and keeps its buffers.
func (m *h1Message) reset() {
	if m.ctx.flush.begun {
		m.keep, m.out = false, bodyOut{}
	}
	m.ctx.reset()
	m.work = nil
	if m.stream.used {
		m.stream.reset()
	}
}

var h1Messages pool.Pool

func acquireH1Message() *h1Message {
	if m, ok := h1Messages.Get().(*h1Message); ok {
		return m
	}
	return newH1Message()
}

// newH1Message returns a message that isn't from the pool.
func newH1Message() *h1Message {
	m := new(h1Message)
	m.ctx.reset()
	return m
}

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
	ss.m.stream.out.Lock()
	defer ss.m.stream.unlock(ss, ss.m.work)
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
		ss.m.stream.until.Store(int64(ss.due))
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
func (ss *h1Session) LimitBody(_ *RequestCtx, n int64) {
	ss.m.stream.used = true
	ss.m.stream.limit.Store(n)
}

// CloseBody ends the reading of a streamed body. A Read may be writing, see requestStream.flush.
func (ss *h1Session) CloseBody(_ *RequestCtx, leaves bool) {
	if leaves && ss.m != nil && ss.m.stream.interrupt() {
		ss.Interrupt() // or closeBody would wait for that Read
	}
	ss.closeBody()
}

// Reading reports whether a Read of the body runs.
func (ss *h1Session) Reading() bool { return ss.m.stream.reads() }

// Hands says that a session serves an UpgradeHandler itself.
func (ss *h1Session) Hands() door.Hands { return door.HandsSession }

// Trailers does nothing: the decoder of the body appends to ctx.trailers.
func (ss *h1Session) Trailers(*msg.Fields) {}

// Flush sends the head, if it is the first call, and the body.
func (ss *h1Session) Flush(ctx *RequestCtx) error {
	m := ss.m
	w, resp := m.work, &ctx.Response
	m.stream.out.Lock()
	defer m.stream.unlock(ss, w)
	ss.boundWrites()
	if !ctx.flush.begun {
		ss.beginFlush(ctx, w, resp)
	}
	err := m.out.writePart(resp.bodyBytes())
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
func (ss *h1Session) SendInterim(_ *RequestCtx, statusCode int, h *ResponseHeader) error {
	if ss.req.minor == 0 {
		return nil
	}
	m := ss.m
	w := m.work
	m.stream.out.Lock()
	defer m.stream.unlock(ss, w)
	if statusCode == StatusContinue {
		m.stream.excuse()
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
		if !ss.m.stream.tryYield() {
			return nil, errHijackReading
		}
		defer func() {
			if err != nil {
				ss.lost = true // what is unread again belongs to this request
			}
		}()
	}
	if err := ss.c.Flush(ss.m.work); err != nil {
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
	ss.outcome.abort()
}

// detach takes the connection out of the engine. ctx can't use it any more.
func (ss *h1Session) detach(ctx *RequestCtx) (net.Conn, error) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if !ctx.reaches() {
		return nil, ErrNilConnection
	}
	nc, err := ss.c.Detach(ss.m.work)
	if err != nil {
		return nil, err
	}
	ss.m.work, ctx.reach, ctx.sends = nil, over, false
	ctx.detachDone()
	if ss.over() {
		ctx.done.Load().hurry()
	}
	ss.outcome, ss.bare = tookConn, false
	return nc, nil
}

// upgrade sends the response and lets the UpgradeHandler have the connection.
func (ss *h1Session) upgrade(ctx *RequestCtx, w *engine.Work, next *engine.Next) {
	ss.upgrades = true
	to := newUpgradeSession(ctx.handover.upgrade)
	if ss.writeGrant(ctx, w, next) {
		ss.switchTo(to, next)
	}
}

// writeGrant sends the response after which the program gets the connection, and ends the
// message in flight. If a part of the request's body is left unread, its bytes would be
// taken for bytes of the protocol: then writeGrant returns false, and the connection ends,
// as it does if the response can't be sent, or if its end is that of the connection.
func (ss *h1Session) writeGrant(ctx *RequestCtx, w *engine.Work, next *engine.Next) (granted bool) {
	ss.write(ctx, w, &ctx.Response, false, next)
	if next.Op == engine.Abort {
		return false
	}
	ends := next.Op == engine.Close && !ss.tunnels(ctx.Response.StatusCode())
	whole := !ends && !ss.unreadBody() && !ss.isLost()
	ss.finish(ctx, w, false)
	if !whole {
		next.Op, next.Linger = engine.Close, true
	}
	return whole
}
