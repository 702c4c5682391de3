package gale

import (
	"io"
	"net"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h1Session is the server's side of an HTTP/1.1 connection: it makes requests of
// the bytes that an engine feeds it, runs the handler and appends responses.
type h1Session struct {
	serverConn

	num uint64 // requests whose head has arrived
	// begun is when the first byte of the message in flight was read, 0
	// between messages.
	begun clock.Tick
	// ran is when the bytes were read that the last handler got its request
	// from. What came with them waited for it.
	ran clock.Tick
	// ctx is the message in flight while its body arrives; between feeds no
	// context is held otherwise, see take.
	ctx *RequestCtx
	// body decodes the body of the message in flight.
	body *h1.Body // of ctx; nil unless hasBody
	// due is until when the body of the message in flight must have arrived and,
	// between messages, the next one must have begun; 0 for never.
	due clock.Tick
	cfg *requestLimits // of the message in flight: those of fixed, or rare.own

	drained    int32 // bytes of the body that weren't wanted, see drain
	stage      stage
	emptyLines h1.EmptyLines // before the message
	waits      bool          // for a message, until due: begun == 0
	hasBody    bool          // the message has a body; see unreadBody

	// req is what of the head decides on the connection, as it was received:
	// handlers may change the header.
	req struct {
		method    msg.MethodID
		minor     uint8
		keepAlive bool
		tunnel    bool // CONNECT to a host, not to a path
		plain     bool // HTTP/1.1, and a 200 has a body with a length
	}
	outcome
	writeLimited bool // the engine was told a deadline for writes
	boundsDiffer bool // the engine was told other bounds than those of fixed
	shared       bool // a context that knows the session was left to others
	bare         bool // the body of the response ends with the connection
	lost         bool // it can't be used on: a request was refused; see isLost
}

// hijacked reports whether a handler takes over the connection.
func (ss *h1Session) hijacked() bool {
	rare := ss.rare.Load()
	return rare != nil && rare.hijack != nil
}

// stage is what a session expects next.
type stage uint8

const (
	inHead stage = iota
	inBody
)

// maxBatch is how much output is gathered before it is written although more
// requests have arrived.
const maxBatch = 16 << 10

// sessions are sessions whose connections have ended in order.
var sessions pool.Pool

// newSession returns a session of HTTP/1.1, for which newConn does the rest.
func newSession() *h1Session {
	if ss, ok := sessions.Get().(*h1Session); ok {
		return ss
	}
	return new(h1Session)
}

// free makes the session ready for another connection, unless a context that
// others may hold knows it.
func (ss *h1Session) free() {
	if ss.shared || ss.hijacked() {
		return
	}
	*ss = h1Session{}
	sessions.Put(ss)
}

// Open begins the session.
func (ss *h1Session) Open(c engine.Conn, next *engine.Next) {
	ss.begin(c)
	ss.cfg = &ss.l.fixed.each
	if d, stall := ss.cfg.writeTimeout, ss.cfg.writeStall; d > 0 || stall > 0 {
		c.SetWriteTimeout(d, stall)
	}
	next.Idle = true
	if d := ss.s.headTimeout(); d > 0 {
		next.Deadline = clock.TickOf(ss.opened).Add(d)
	}
}

// Feed serves the requests in w. A panic of user code other than the handler
// (hooks, body streams, closers of user values) is logged and ends the
// connection.
func (ss *h1Session) Feed(w *engine.Work, next *engine.Next) {
	fine := false
	defer func() {
		if !fine {
			ss.broke(recover(), next)
		}
	}()
	n := ss.num
	ss.feed(w, next)
	if n = ss.num - n; n > 0 {
		ss.s.stats.requests.add(ss.id, n)
	}
	fine = true
}

// broke ends the connection after a panic with r, or after runtime.Goexit, for
// which r is nil: then Closed does the rest.
func (ss *h1Session) broke(r any, next *engine.Next) {
	ctx := ss.ctx
	if ctx != nil {
		ss.wrest(ctx)
		if ctx.done.Load() != nil {
			ctx.endDone() // before the engine closes, which looks like a client that leaves
		}
	}
	if r == nil {
		return
	}
	ss.abort(next)
	ss.s.logPanic("while serving "+ss.nc.RemoteAddr().String(), r, stack())
	if ctx != nil {
		defer func() { _ = recover() }() // of another closer: one is logged
		ss.abandon(ctx)
	}
}

func (ss *h1Session) feed(w *engine.Work, next *engine.Next) {
	for {
		if ss.stage == inHead {
			b := w.Unread()
			if len(b) > 0 && b[0] == '\r' || ss.emptyLines.Half() { // rare: no call for other requests
				if err := ss.skipEmptyLines(w); err != nil {
					ss.refuseHead(w, err, next)
					return
				}
				b = w.Unread()
			}
			if len(b) == 0 {
				ss.idle(w, next)
				return
			}
			if !ss.feedHead(w, next) {
				return
			}
		}
		if ss.hasBody && !ss.cfg.stream && !ss.feedBody(w, next) {
			return
		}
		if !ss.answer(w, next) {
			return
		}
		if len(w.Out) >= maxBatch {
			next.Op = engine.Flush
			return
		}
	}
}

// skipEmptyLines drops empty lines between requests (RFC 9112 section 2.2). They
// don't start a request and its clock, also where one arrives in two pieces.
func (ss *h1Session) skipEmptyLines(w *engine.Work) error {
	n, err := ss.emptyLines.Skip(w.Unread(), &ss.l.fixed.lim)
	w.Consume(n)
	return err
}

// idle waits for the next request. Empty lines don't prolong the wait.
func (ss *h1Session) idle(w *engine.Work, next *engine.Next) {
	next.Idle = true
	if ss.num == 0 {
		if d := ss.s.headTimeout(); d > 0 {
			next.Deadline = clock.TickOf(ss.opened).Add(d)
		}
		return
	}
	ss.setState(StateIdle)
	if !ss.waits {
		ss.waits, ss.due = true, 0
		if d := ss.s.idleTimeout(); d > 0 {
			ss.due = clock.Ticks().Add(d) // w.Now is before the handler ran
		}
	}
	next.Deadline = ss.due
}

// takeContext returns the context for the message in flight: the one that is held, the
// one that the workspace brought, or a fresh one.
func (ss *h1Session) takeContext(w *engine.Work) *RequestCtx {
	if ss.ctx != nil {
		return ss.ctx
	}
	ctx, ok := w.State.(*RequestCtx)
	if ok {
		w.State = nil
	} else {
		ctx = acquireCtx()
	}
	ss.ctx = ctx
	return ctx
}

// drop gives the context to the workspace, for the next message.
func (ss *h1Session) drop(w *engine.Work) {
	ctx := ss.ctx
	ss.ctx = nil
	if !reuseContexts.Load() {
		ctx.poison()
		return
	}
	if w.State == nil {
		w.State = ctx
		return
	}
	releaseCtx(ctx)
}

// keepScan is how much of an unfinished head is parsed again when more of it
// arrives, rather than hold a context for it.
const keepScan = 4 << 10

// feedHead parses a request head and decides on the request by it; false means
// that next must be done first.
func (ss *h1Session) feedHead(w *engine.Work, next *engine.Next) bool {
	if ss.begun == 0 {
		ss.begun, ss.waits = w.Now, false
		ss.setState(StateActive)
	}
	ctx := ss.takeContext(w)
	in := w.Unread()
	head := &ctx.Request.Header.s
	n, err := h1.ParseRequest(in, &head.RequestHead, &ss.l.fixed.lim)
	if err != nil {
		if ss.num == 0 && ss.greeted(w, next) {
			return false
		}
		if err != h1.ErrPartial {
			if err == h1.ErrVersionSyntax && ss.num == 0 && ss.s.HTTP2.H2C && !ss.isTLS {
				return ss.leaveUnanswered(w, err, next)
			}
			return ss.refuseHead(w, err, next)
		}
		if len(in) <= keepScan {
			head.Abandon()
			ss.drop(w)
		}
		ss.awaitHead(next)
		return false
	}
	w.Consume(n)
	ss.num++
	ss.prepare(ctx, w)
	return ss.accept(ctx, w, next)
}

// leaveUnanswered ends a connection that began with no request line, where clients may
// begin with HTTP/2: one of those would take the text of HTTP/1.1 for frames.
func (ss *h1Session) leaveUnanswered(w *engine.Work, err error, next *engine.Next) (more bool) {
	ss.err = ss.headError(w, err)
	ss.ctx.reset()
	ss.drop(w)
	next.Op, next.Linger = engine.Close, true
	return false
}

// awaitHead waits for the rest of a head.
func (ss *h1Session) awaitHead(next *engine.Next) {
	d := ss.s.headTimeout()
	if d <= 0 {
		return
	}
	ss.excuseWait()
	since := ss.begun
	if ss.num == 0 {
		since = clock.TickOf(ss.opened)
	}
	next.Deadline = since.Add(d)
}

// excuseWait lets the time of a pipelined message begin now if all that has
// arrived of it waited for the handler of the one before.
func (ss *h1Session) excuseWait() {
	if ss.begun == ss.ran {
		ss.begun = clock.Ticks()
	}
}

// prepare makes the context that of the request whose head it holds.
func (ss *h1Session) prepare(ctx *RequestCtx, w *engine.Work) {
	ctx.s, ctx.x, ctx.num = ss.s, ss, ss.num
	head := &ctx.Request.Header.s
	ss.req.method, ss.req.minor, ss.req.keepAlive = head.MethodID, head.Minor, h1.KeepAlive(&head.RequestHead)
	ss.req.tunnel = head.MethodID == msg.MethodConnect && head.Form != msg.FormOrigin
	ss.req.plain = head.Minor > 0 && head.MethodID != msg.MethodHead && head.MethodID != msg.MethodConnect
	ctx.isTLS = ss.isTLS
	ctx.Request.isTLS = ss.isTLS
	if ss.l.fixed.keepNames {
		ctx.Request.Header.DisableNormalizing()
	}
	if head.Form != msg.FormOrigin {
		ctx.Request.Header.takeAuthority()
	}
	ss.prepareResponse(ctx)
}

// Stall ends the connection when nothing more comes.
func (ss *h1Session) Stall(w *engine.Work, why error, next *engine.Next) {
	if engine.IsTimeout(why) {
		ss.s.stats.timeouts.Add(1)
	}
	if ss.begun == 0 {
		switch {
		case engine.IsTimeout(why) && ss.num == 0 && ss.s.ReadTimeout > 0 && !ss.s.ReduceMemoryUsage:
			// Who sets ReadTimeout expects an answer, as programs that open a
			// connection and wait do. Otherwise none is due: browsers open
			// connections ahead of need.
			ss.refuseHead(w, ErrTimeout, next)
			ss.err = nil
			return
		case why != io.EOF && !engine.IsTimeout(why):
			ss.err = why
		}
		next.Op = engine.Close
		return
	}
	switch {
	case engine.IsTimeout(why):
		if ss.stage == inHead {
			ss.refuseHead(w, ErrTimeout, next)
			ss.err = ss.headError(w, why)
			return
		}
		ss.refuse(w, ErrTimeout, next)
		ss.err = why
		return
	case why == io.EOF && ss.stage == inBody:
		ss.refuse(w, io.ErrUnexpectedEOF, next)
		return
	case why == io.EOF:
		why = io.ErrUnexpectedEOF
	}
	if ss.err = why; ss.stage == inHead {
		ss.err = ss.headError(w, why)
	}
	next.Op = engine.Abort
}

// Closed is the end of the connection, or of HTTP/1.1 on it.
func (ss *h1Session) Closed(err error) {
	if err == engine.ErrSwitched {
		ss.free()
		return
	}
	if ctx := ss.ctx; ctx != nil {
		ss.wrest(ctx)
		defer ss.abandon(ctx)
	}
	if ss.detached {
		return
	}
	ss.end(err)
}

// Hijacked lets the handler that asked for it have the connection.
func (ss *h1Session) Hijacked(c net.Conn) {
	h := ss.extra().hijack
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("in a HijackHandler", r, stack())
		}
	}()
	if !ss.s.KeepHijackedConns {
		defer c.Close()
	}
	ss.setState(StateHijacked)
	h(c)
}
