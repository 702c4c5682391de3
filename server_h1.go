package gale

import (
	"io"
	"net"
	"net/netip"
	"runtime/debug"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h1Session is the server's side of an HTTP/1.1 connection. It parses requests from the
// bytes that an engine feeds it, runs the handler, and appends responses.
type h1Session struct {
	serverConn

	num uint64 // number of requests whose head has arrived
	// begun is the time when the first byte of the message in flight was read, 0 between
	// messages.
	begun clock.Tick
	// ran is the time of the read that brought the last handler's request. Other bytes of
	// that read waited for the handler.
	ran clock.Tick
	// m is the message in flight while its body arrives. At other times the session
	// holds none between feeds; see takeContext.
	m *h1Message
	// due is the time by which the body of the message in flight must have arrived or,
	// between messages, the next message must have begun; 0 for never.
	due clock.Tick
	cfg *requestLimits // of the message in flight: that of fixed, or rare.own

	drained    int32 // bytes of the body that the handler left unread, see drain
	stage      stage
	emptyLines h1.EmptyLines // before the message
	waits      bool          // the session waits for a message, until due: begun == 0
	hasBody    bool          // the message has a body; see unreadBody

	// req has the parts of the received head that decide on the connection, because
	// handlers may change the header.
	req struct {
		method    msg.MethodID
		minor     uint8
		keepAlive bool
		tunnel    bool // CONNECT to a host, not to a path
		plain     bool // HTTP/1.1, and a 200 has a body with a length
	}
	outcome      outcome
	writeLimited bool // the engine was told a deadline for writes
	boundsDiffer bool // the engine was told other bounds than those of fixed
	shared       bool // a context that refers to the session was left to other goroutines
	tells        bool // functions of AfterSend wait for the response that is being written, see sentResponse

	// If one of these is set, the session serves no other request. lost and upgrades stay, bare ends
	// when all of the response is written.
	lost     bool // the connection can't be used again: a request was refused; see isLost
	bare     bool // the body of the response ends with the connection
	upgrades bool // an UpgradeHandler takes over the connection
}

// hijacked reports whether a HijackHandler takes over the connection.
func (ss *h1Session) hijacked() bool {
	rare := ss.rare.Load()
	return rare != nil && rare.hijack != nil
}

// counts reports whether the server goes on to count the connection after it was hijacked.
func (ss *h1Session) counts() bool {
	rare := ss.rare.Load()
	return rare != nil && rare.counts
}

// stage is what a session expects next.
type stage uint8

const (
	inHead stage = iota
	inBody
)

// maxBatch is how many bytes of output are collected while more requests have arrived.
// More than that is written at once.
const maxBatch = 16 << 10

// sessions is a pool of sessions whose connections have ended without a panic.
var sessions pool.Pool

// newSession returns an HTTP/1.1 session, which newConn completes.
func newSession() *h1Session {
	if ss, ok := sessions.Get().(*h1Session); ok {
		return ss
	}
	return new(h1Session)
}

// free makes the session ready for another connection, unless a context that other
// goroutines may hold refers to it.
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
		next.Deadline = ss.opened.Add(d)
	}
}

// Feed serves the requests in w. A panic of user code other than the handler
// (hooks, body streams, closers of user values) is logged and ends the
// connection.
func (ss *h1Session) Feed(w *engine.Work, next *engine.Next) {
	fine := false
	if ss.l.fixed.faults {
		debug.SetPanicOnFault(true) // for good: the goroutine is one of an engine
	}
	defer func() {
		if !fine {
			ss.broke(recover(), next)
		}
	}()
	if ss.tells && ss.wasSent(next) {
		fine = true
		return
	}
	n := ss.num
	ss.feed(w, next)
	ss.closeLater(next)
	if n = ss.num - n; n > 0 {
		ss.l.fixed.served.add(w.Number(), n)
	}
	fine = true
}

// broke ends the connection after a panic with value r, or after runtime.Goexit; then r
// is nil. Closed does the rest.
func (ss *h1Session) broke(r any, next *engine.Next) {
	m := ss.m
	if m != nil {
		ctx := &m.ctx
		ctx.wrest()
		if ctx.done.Load() != nil {
			ctx.endDone() // before the engine closes the connection, which would look like a client that leaves
		}
	}
	ss.abort(next)
	if r == nil {
		return
	}
	ss.s.logPanic("while serving "+addrText(ss.nc.RemoteAddr), r, stack())
	if m != nil {
		defer func() { _ = recover() }() // a panic of another closer; only one is logged
		ss.abandon(&m.ctx)
	}
}

func (ss *h1Session) feed(w *engine.Work, next *engine.Next) {
	for {
		if ss.stage == inHead {
			b := w.Unread()
			if len(b) > 0 && b[0] == '\r' || ss.emptyLines.Half() { // rare, so most requests don't pay for a call
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

// skipEmptyLines drops empty lines between requests (RFC 9112 section 2.2). They don't
// begin a request and don't start its timeout, even if one arrives in two pieces.
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
			next.Deadline = ss.opened.Add(d)
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

// takeContext returns the context of the message in flight: the one that the session
// holds, the one in the workspace, or a new one.
func (ss *h1Session) takeContext(w *engine.Work) *RequestCtx {
	if ss.m != nil {
		return &ss.m.ctx
	}
	m, ok := w.State.(*h1Message)
	if ok {
		w.State = nil
	} else {
		m = acquireH1Message()
	}
	ss.m = m
	return &m.ctx
}

// drop leaves the message in the workspace, for the next one.
func (ss *h1Session) drop(w *engine.Work) {
	m := ss.m
	ss.m = nil
	giveBack(m, w)
}

// giveBack leaves a message that was reset in the workspace.
func giveBack(m *h1Message, w *engine.Work) {
	if w.State == nil {
		w.State = m
		return
	}
	h1Messages.Put(m)
}

// keepScan is the size in bytes up to which an unfinished head is parsed again when more
// of it arrives. The session holds a context only for larger ones.
const keepScan = 4 << 10

// feedHead parses a request head and decides what to do with the request. It returns
// false if next must be done first.
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
	if lender := ss.l.fixed.lender; lender != nil && lender.Sample() {
		ctx = ss.lend(lender, w)
	}
	ss.prepare(ctx)
	return ss.accept(ctx, w, next)
}

// leaveUnanswered ends a connection that didn't begin with a request line, on a listener
// where clients may begin with HTTP/2: such a client would take the text of an HTTP/1.1
// response for frames.
func (ss *h1Session) leaveUnanswered(w *engine.Work, err error, next *engine.Next) (more bool) {
	ss.fault(ss.headError(w, err))
	ss.m.reset()
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
		since = ss.opened
	}
	next.Deadline = since.Add(d)
}

// excuseWait lets the timeout of a pipelined message begin now if all its bytes so far
// waited for the handler of the message before.
func (ss *h1Session) excuseWait() {
	if ss.begun == ss.ran {
		ss.begun = clock.Ticks()
	}
}

// prepare is beginRequest, and notes what the head says about the connection.
func (ss *h1Session) prepare(ctx *RequestCtx) {
	ss.beginRequest(ctx, ss, ss.num)
	head := &ctx.Request.Header.s
	ss.req.method, ss.req.minor, ss.req.keepAlive = head.MethodID, head.Minor, h1.KeepAlive(&head.RequestHead)
	ss.req.tunnel = head.MethodID == msg.MethodConnect && head.Form != msg.FormOrigin
	ss.req.plain = head.Minor > 0 && head.MethodID != msg.MethodHead && head.MethodID != msg.MethodConnect
	if head.Form != msg.FormOrigin {
		ctx.Request.Header.takeAuthority()
	}
}

// Stall ends the connection when no more bytes come in time.
func (ss *h1Session) Stall(w *engine.Work, why error, next *engine.Next) {
	defer ss.closeLater(next)
	if ss.l.fixed.faults {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	if engine.IsTimeout(why) {
		ss.s.stats.timeouts.Add(1)
	}
	if ss.begun == 0 {
		switch {
		case engine.IsTimeout(why) && ss.num == 0 && ss.s.ReadTimeout > 0 && !ss.s.ReduceMemoryUsage:
			// If ReadTimeout is set, a client that opened a connection and sent nothing
			// gets an answer: programs that open a connection and wait expect one.
			// Otherwise it gets none, because browsers open connections before they need
			// them.
			ss.refuseHead(w, ErrTimeout, next)
			ss.fault(nil)
			return
		case why != io.EOF && !engine.IsTimeout(why):
			ss.fault(why)
		}
		next.Op = engine.Close
		return
	}
	switch {
	case engine.IsTimeout(why):
		if ss.stage == inHead {
			ss.refuseHead(w, ErrTimeout, next)
			ss.fault(ss.headError(w, why))
			return
		}
		ss.refuse(w, ErrTimeout, next)
		ss.fault(why)
		return
	case why == io.EOF && ss.stage == inBody:
		ss.refuse(w, io.ErrUnexpectedEOF, next)
		return
	case why == io.EOF:
		why = io.ErrUnexpectedEOF
	}
	if ss.fault(why); ss.stage == inHead {
		ss.fault(ss.headError(w, why))
	}
	next.Op = engine.Abort
}

// Closed is called at the end of the connection, or of HTTP/1.1 on it.
func (ss *h1Session) Closed(err error) {
	if err == engine.ErrSwitched {
		if ss.tells {
			ss.tellSent(nil)
		}
		ss.free()
		return
	}
	if ss.l.fixed.faults {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	if ss.tells {
		defer ss.tellUnsent(err)
	}
	if ss.m != nil {
		ctx := &ss.m.ctx
		ctx.wrest()
		if ss.stage == inBody && !ss.lost && !ss.cfg.stream && ss.unreadBody() && !ctx.isDetached() {
			ctx.Request.ResetBody() // no handler has it
		}
		defer ss.abandon(ctx)
	}
	if ss.outcome == tookConn {
		return
	}
	if ss.counts() {
		ss.s.unhold(ss.addr())
	}
	ss.end(err)
}

// Hijacked passes the connection to the HijackHandler.
func (ss *h1Session) Hijacked(c net.Conn) {
	t := takenOver{s: ss.s, c: c, h: ss.extra().hijack, counts: ss.counts(), ip: ss.addr(), faults: ss.l.fixed.faults}
	if ss.tells || ss.s.ConnState != nil {
		t.ss = ss
	}
	t.run() // which may take days: ss and the engine's connection are free meanwhile
}

// takenOver is a connection that a HijackHandler has.
type takenOver struct {
	s      *Server
	c      net.Conn
	h      HijackHandler
	ss     *h1Session // nil if no function of the program has to be told anything
	ip     netip.Addr // for which it counts
	counts bool       // see HijackCounted
	faults bool
}

func (t takenOver) run() {
	if t.counts {
		defer t.s.unhold(t.ip)
		defer t.setState(StateClosed)
	}
	defer func() {
		if r := recover(); r != nil {
			t.s.logPanic("in a HijackHandler", r, stack())
		}
	}()
	if t.faults {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	given := false
	defer func() {
		if !given || !t.s.KeepHijackedConns {
			t.c.Close()
		}
	}()
	if t.ss != nil && t.ss.tells {
		t.ss.tellSent(nil)
	}
	if !t.counts {
		t.setState(StateHijacked)
	}
	given = true
	t.h(t.c)
}

func (t *takenOver) setState(st ConnState) {
	if t.ss != nil {
		t.ss.setState(st)
	}
}
