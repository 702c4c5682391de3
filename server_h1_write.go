package gale

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// answer runs the handler for the message in flight and writes the response. It returns
// false if next must be done before the next message.
func (ss *h1Session) answer(w *engine.Work, next *engine.Next) (ok bool) {
	m, ctx := ss.m, &ss.m.ctx
	m.work, ctx.reach = w, running
	ctx.tick, ss.ran = w.Now, w.Now
	if ss.l.fixed.lazyTime {
		ctx.tick = 0 // see RequestCtx.Time
	}
	ss.boundWrites()
	fine := ss.handle(ctx, &ss.outcome)
	late := ctx.wrestLate(fine)
	if ss.lost = ss.lost || !fine; ss.outcome == tookConn { // lost: whatever PanicHandler has flushed
		ss.finish(ctx, w, late)
		return false
	}
	if ss.hasBody && !late && ss.refusesBody(ctx, w, next) {
		return false
	}
	resp, hands := &ctx.Response, door.Hijack{}
	if late || ctx.handover.to != nil || len(ctx.hooks) != 0 || ss.l.fixed.hooked || ctx.flush.begun || resp.readErr != nil {
		if resp, hands = ss.choose(ctx, ss.hijackOf(), &ss.outcome); hands.NoResponse && ss.hasBody && !ctx.flush.begun {
			m.stream.tryYield()
		}
	}
	streams := resp != nil && resp.hasStream()
	if !streams {
		ss.closeBody() // before the watch is resumed, which must not run during a Read
	}
	gone := ctx.done.Load() != nil && ctx.doneWith(!late && streams)
	if resp == nil || gone {
		ctx.wrest()
		ss.closeBody()
		ss.abandon(ctx)
		ss.abort(next)
		return false
	}
	switch {
	case hands.Handler == nil:
	case ctx.handover.upgrade != nil:
		ss.upgrade(ctx, w, next)
		return false
	default:
		ss.handOver(ctx, w, next)
		return false
	}
	if streams && fine && ctx.loan != nil {
		ctx.renew(resp)
	}
	mustClose := !fine || late && ss.unreadBody()
	ok = ss.write(ctx, w, resp, mustClose, next)
	ss.finish(ctx, w, late)
	return ok
}

// hijackOf says what decides about a handover.
func (ss *h1Session) hijackOf() (of door.HijackOf) {
	if !ss.req.keepAlive {
		of |= door.HijackCloses
	}
	if ss.req.minor == 0 {
		of |= door.HijackOld
	}
	if ss.req.tunnel {
		of |= door.HijackTunnel
	}
	return of
}

// refusesBody answers in place of a handler that treated a body as empty because it could
// not be read.
func (ss *h1Session) refusesBody(ctx *RequestCtx, w *engine.Work, next *engine.Next) bool {
	err := ctx.unheard()
	if err == nil || ss.outcome == brokeConn || ctx.flush.begun || ctx.hookStage.Load() != hooksOpen {
		return false
	}
	ss.closeBody()
	ctx.keepConn()
	ss.refuse(w, err, next)
	return true
}

// respondBroken replaces a response whose body could not be read with an error response.
func respondBroken(resp *Response) {
	resp.Reset()
	resp.SetStatusCode(StatusInternalServerError)
	resp.Header.SetContentType(plainText)
	resp.SetBodyString(StatusMessage(StatusInternalServerError))
}

// closeBody ends the reading of a streamed body. If a goroutine is reading at this
// moment, the connection can't be used again.
func (ss *h1Session) closeBody() {
	if ss.hasBody && ss.cfg.stream {
		ss.m.stream.shut()
	}
}

// finish ends the message in flight. late says that other goroutines may use ctx, see door.Ending.
func (ss *h1Session) finish(ctx *RequestCtx, w *engine.Work, late bool) {
	ss.stage = inHead
	ss.begun = 0
	ss.emptyLines = h1.EmptyLines{}
	ss.closeBody()
	ss.hasBody = false
	if !late && ctx.isAlone() { // most requests, so it isn't left to endRequest
		ss.m.reset()
		ss.drop(w)
		return
	}
	ss.endContext(ctx, w, late)
}

// endContext ends the request of ctx. If nothing else has ctx, it leaves that in the workspace, for the
// next message.
func (ss *h1Session) endContext(ctx *RequestCtx, w *engine.Work, late bool) {
	ss.closeBody()
	m, shared := ss.m, ss.shared
	m.work, ss.hasBody = nil, false
	ss.m, ss.shared = nil, true // also if code of the program doesn't return
	switch ctx.endRequest(door.Ending{Sent: m.out.sent, Err: errNotSent, Late: late}) {
	case ctxFree:
		m.reset()
		giveBack(m, w)
	case ctxLeft:
		return
	}
	ss.shared = shared
}

// abandon leaves the message in flight, with its context, to the goroutines that may hold
// it.
func (ss *h1Session) abandon(ctx *RequestCtx) { ss.endContext(ctx, nil, true) }

// handOver ends the session, because a handler hijacks the connection.
func (ss *h1Session) handOver(ctx *RequestCtx, w *engine.Work, next *engine.Next) {
	ss.extra().hijack = ctx.handover.to
	if ctx.handover.counted {
		ss.extra().counts = true
		ss.s.hold(ss.addr())
	}
	if ctx.handover.silent && !ctx.flush.begun {
		ss.finish(ctx, w, false)
	} else if !ss.writeGrant(ctx, w, next) {
		return
	}
	next.Op = engine.Hijack
}

// isLost reports whether the connection can't be used again after the message in flight,
// because a goroutine was reading from it or a request was refused.
func (ss *h1Session) isLost() bool { return ss.lost || ss.hasBody && ss.m.stream.ended.Load() }

// keepAlive reports whether the connection may be used again after resp.
func (ss *h1Session) keepAlive(resp *Response) bool {
	return ss.req.keepAlive && !ss.isLost() && !(resp.Header.mayClose() && resp.ConnectionClose()) &&
		ss.num < ss.l.fixed.requests && !ss.s.DisableKeepalive && !ss.c.Stopping() || ss.upgrades || ss.hijacked()
}

// bodyless reports whether a response with this status never has a body
// (RFC 9112 section 6.3, and RFC 9110 section 15.3.6 for 205).
func bodyless(status int) bool {
	return status < 200 || status == StatusNoContent || status == StatusResetContent || status == StatusNotModified
}

// write appends the response to w.Out, and sends it if its body is a stream. It returns
// false if next must be done before the next message.
func (ss *h1Session) write(ctx *RequestCtx, w *engine.Work, resp *Response, mustClose bool, next *engine.Next) (ok bool) {
	if resp != &ctx.Response || len(ctx.after) != 0 {
		ss.awaitSent(ctx, resp)
	}
	if ctx.flush.begun {
		return ss.writeRest(ctx, w, resp, next)
	}
	keep := !mustClose && ss.keepAlive(resp)
	if keep && ss.isPlain(resp) {
		return ss.writePlain(w, resp, next)
	}
	streams, left := resp.hasStream(), false
	if keep && !streams && ss.unreadBody() {
		keep = ss.mayDrain(w)
	}
	ss.frame(resp, &keep)
	if streams {
		ss.m.stream.out.Lock() // a goroutine may be reading the body of the request
		ss.m.stream.answer(w, resp.StatusCode(), !resp.SkipBody && ss.m.stream.mayBeRead())
	}
	ss.boundWrites()
	w.Out = resp.Header.appendHead(w.Out, ss.l.fixed.name)
	if streams {
		ss.m.stream.unlock(ss, w)
	}
	switch {
	case resp.SkipBody:
		ss.countSent(0, nil)
		if streams {
			ctx.closeAfter()
			resp.closeStream(nil)
		}
	case streams:
		file, err := ss.writeStream(ctx, w, resp)
		if err != nil {
			return ss.fail(err, next)
		}
		next.File = file
		ss.closeBody()
		keep = keep && !ss.isLost() && (!ss.unreadBody() || ss.mayDrain(w))
	case resp.Header.s.ContentLength == msg.LenChunked:
		out := bodyOut{Promised: head.Promised{Left: -1}, ss: ss, w: w, in: &ss.m.stream, chunked: true}
		if _, err := out.Write(resp.bodyBytes()); err != nil {
			return ss.fail(err, next)
		}
		out.end(resp)
	default:
		var err error
		if left, err = ss.writeBytes(w, resp.bodyBytes(), !ss.unreadBody()); err != nil {
			return ss.fail(err, next)
		}
	}
	if keep && ss.unreadBody() {
		// The response must not wait until the unread body has arrived.
		if err := ss.c.Flush(w); err != nil {
			return ss.fail(err, next)
		}
		keep = ss.drain(w)
	}
	ss.bare = ss.bare && len(w.Out) > 0 // what was written is whole
	return ss.after(next, keep, left)
}

// isPlain reports whether the response is a 200 with a body in memory, and its HTTP/1.1
// request was read to its end.
func (ss *h1Session) isPlain(resp *Response) bool {
	h := &resp.Header
	return ss.req.plain && !ss.hasBody && (h.s.Status == 0 || h.s.Status == StatusOK) &&
		h.s.Seen()&trailerBit == 0 && !resp.SkipBody && !resp.hasStream()
}

// writePlain is write for plain responses, which need only a Content-Length. Testing all
// the cases of write would take a tenth of the time of a small request
// (BenchmarkServerPipelined).
func (ss *h1Session) writePlain(w *engine.Work, resp *Response, next *engine.Next) bool {
	body := resp.bodyBytes()
	h := &resp.Header
	h.s.ContentLength = int64(len(body))
	h.s.Implied |= ss.l.fixed.implied
	ss.boundWrites()
	w.Out = h.appendHead(w.Out, ss.l.fixed.name)
	left, err := ss.writeBytes(w, body, true)
	if err != nil {
		return ss.fail(err, next)
	}
	return ss.after(next, true, left)
}

// after decides what comes after a response. left says that the engine must still write a
// part of it.
func (ss *h1Session) after(next *engine.Next, keep, left bool) bool {
	if !keep {
		next.Op = engine.Close
		next.Linger = ss.unreadBody()
		return false
	}
	if left || next.File != nil || ss.cfg.writeNow || ss.tells {
		next.Op = engine.Flush
		return false
	}
	return true
}

// fail aborts the connection because of err.
func (ss *h1Session) fail(err error, next *engine.Next) bool {
	ss.fault(err)
	ss.abort(next)
	return false
}

// abort aborts the connection. A response that is being sent must not look complete: if
// the end of the connection is the end of the body, the connection is reset.
func (ss *h1Session) abort(next *engine.Next) { next.Op, next.Reset = engine.Abort, ss.bare }

// tunnels reports whether a response with this status makes the connection a
// tunnel (RFC 9110 section 9.3.6).
func (ss *h1Session) tunnels(status int) bool { return ss.req.tunnel && status/100 == 2 }

// sendableStatus returns the status code that the status line will have.
func (resp *Response) sendableStatus() int {
	status := resp.StatusCode()
	if status < 100 || status > 999 {
		status = StatusInternalServerError
		resp.SetStatusCode(status)
	}
	return status
}

var errInterim = errors.New("gale: the status of a response was informational (1xx), but the connection isn't handed over: the client gets 500")

// refuseInterim makes 500 the status of a response that has an informational status,
// although nothing takes the connection over: another response would have to follow (RFC
// 9110 section 15.2). It returns the status.
func (sc *serverConn) refuseInterim(resp *Response) int {
	sc.s.logError(sc.nc, "serving", errInterim)
	resp.Header.SetStatusMessage(nil)
	resp.SetStatusCode(StatusInternalServerError)
	return StatusInternalServerError
}

// frame decides how the body of the response is delimited, and whether the connection can
// be used again after it (RFC 9112 section 6).
func (ss *h1Session) frame(resp *Response, keep *bool) {
	h := &resp.Header
	h.s.Implied |= ss.l.fixed.implied
	status := resp.sendableStatus()
	if status < 200 && !ss.upgrades && !ss.hijacked() {
		status = ss.refuseInterim(resp)
	}
	none := status == StatusResetContent // only a length of 0 tells clients that there is no content
	switch {
	case bodyless(status), ss.tunnels(status), ss.req.method == msg.MethodHead:
		resp.SkipBody = true
	case resp.SkipBody:
		// The program sends no body although the client expects one. With the length of
		// another body, the client would take the next response for a part of this one.
		none = true
	}
	if n := len(resp.bodyBytes()); !resp.hasStream() && (n > 0 || !resp.SkipBody) {
		h.s.ContentLength = int64(n)
	}
	if ss.tunnels(status) {
		h.s.ContentLength = msg.LenUnknown // a tunnel, or nothing at all
		*keep = false
	}
	if h.s.Trailers.ToSend() && h.s.ContentLength >= 0 && !resp.hasStream() && ss.req.minor > 0 {
		h.s.ContentLength = msg.LenChunked // only the chunked coding has trailers
	}
	if h.s.ContentLength < 0 && !resp.SkipBody {
		h.s.ContentLength = msg.LenChunked
	}
	if h.s.ContentLength == msg.LenChunked && ss.req.minor == 0 {
		h.s.ContentLength = msg.LenUnknown // the response to a HEAD must not name the coding either
		if !resp.SkipBody {
			*keep = false // the body ends with the connection
			ss.bare = true
		}
	}
	if none {
		h.s.ContentLength = 0
	}
	if h.s.ContentLength == msg.LenChunked && !h.IsHTTP11() {
		// An HTTP/1.0 client would take the coding for a part of the body (RFC 9112
		// section 6.1).
		h.SetProtocol(strHTTP11)
	}
	switch {
	case !*keep:
		h.SetConnectionClose()
	case ss.req.minor == 0 && !h.s.Has(msg.Connection):
		h.Set(HeaderConnection, "keep-alive")
	}
}

// writeBytes sends a body that is in memory. If last says that the message ends with it,
// the engine may write the rest later; then left is true.
func (ss *h1Session) writeBytes(w *engine.Work, b []byte, last bool) (left bool, err error) {
	switch {
	case len(b) < maxBatch:
		w.Out = append(w.Out, b...)
		return false, nil
	case last:
		return ss.c.LeaveBody(w, b)
	}
	return false, ss.c.WriteBody(w, b)
}

// writeStream sends a body that is a stream or a StreamWriter. A file is not sent but
// returned, for the engine.
func (ss *h1Session) writeStream(ctx *RequestCtx, w *engine.Work, resp *Response) (file *engine.File, err error) {
	ctx.closeAfter()
	out := ss.bodyOut(w, resp)
	defer func() { ss.countSent(out.sent, file) }() // also after a panic
	return out.sendStream(resp)
}

// sendStream is writeStream.
func (o *bodyOut) sendStream(resp *Response) (file *engine.File, err error) {
	r := resp.bodyStream
	if fr, ok := r.(fileRanger); ok && o.Left >= 0 {
		if f, off, n, ok := fr.fileRange(); ok && n == o.Left {
			resp.bodyStream = nil
			c, _ := r.(io.Closer)
			return &engine.File{F: f, Off: off, N: n, Done: c}, nil
		}
	}
	if resp.ImmediateHeaderFlush {
		if err := o.FlushHead(); err != nil {
			resp.closeStream(err)
			return nil, err
		}
	}
	if sw := resp.streamWriter; sw != nil {
		resp.streamWriter = nil
		if err := runStreamWriter(o, sw); err != nil {
			return nil, err
		}
		return nil, o.end(resp)
	}
	err = sendBody(o, r)
	if cerr := resp.closeStream(err); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return nil, o.end(resp)
}
