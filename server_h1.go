package gale

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/race"
)

// session is the server's side of an HTTP/1.1 connection: it makes requests of
// the bytes that an engine feeds it, runs the handler and appends responses.
type session struct {
	s    *Server
	l    *listening // where it came from
	c    engine.Conn
	nc   net.Conn
	rare atomic.Pointer[sessionRare] // see extra

	id     uint64
	num    uint64 // requests whose head has arrived
	opened time.Time
	isTLS  bool

	// req is what of the head decides on the connection, as it was received:
	// handlers may change the header.
	req struct {
		method    msg.MethodID
		minor     uint8
		keepAlive bool
		tunnel    bool // CONNECT to a host, not to a path
		plain     bool // HTTP/1.1, and a 200 has a body with a length
	}

	stage stage
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
	body         *h1.Body // of ctx
	drained      int32    // bytes of the body that nobody wanted, see drain
	emptyLines   uint8    // before the message
	hasBody      bool     // the message has a body; see unreadBody
	state        uint8    // the ConnState last told to Server.ConnState
	bodyDeadline clock.Tick
	cfg          *requestLimits // of the message in flight: those of fixed, or rare.own
	err          error          // what ended the connection, for Closed
	writeTimeout time.Duration  // as last told to the engine
	writeLimited bool           // the engine was told a deadline for writes
	shared       bool           // a context that knows the session was left to others
	bare         bool           // the body of the response ends with the connection
	aborted      bool           // the handler wants the connection dropped
	lost         bool           // somebody reads from it: it can't be used on
	detached     bool           // the connection is somebody else's, see HijackNow
}

// sessionRare is what few sessions need: a million of the others may be idle
// (TestEventWeight).
type sessionRare struct {
	ip     netip.Addr      // as it counts for Server.MaxConnsPerIP, if it does
	parent context.Context // of BaseContext and ConnContext, nil without them
	own    *requestLimits  // see change; nil as long as there was no need for it
	hijack HijackHandler   // that is to have the connection
}

// extra returns the rarely used part. Contexts that were left to others may look
// for parent, which is set before the first request, at the same time.
func (ss *session) extra() *sessionRare {
	rare := ss.rare.Load()
	if rare == nil {
		rare = new(sessionRare)
		ss.rare.Store(rare)
	}
	return rare
}

// hijacked reports whether a handler is to have the connection.
func (ss *session) hijacked() bool {
	rare := ss.rare.Load()
	return rare != nil && rare.hijack != nil
}

// parent returns what the hooks made the context of the connection, or nil.
func (ss *session) parent() context.Context {
	if rare := ss.rare.Load(); rare != nil {
		return rare.parent
	}
	return nil
}

// stage is what a session expects next.
type stage uint8

const (
	inHead stage = iota
	inBody
)

// requestLimits are the settings of one request.
type requestLimits struct {
	maxBody      int
	readTimeout  time.Duration
	writeTimeout time.Duration
	stream       bool
	// writeUntil is the deadline that SetWriteDeadline gave the response.
	writeUntil clock.Tick
	// writeNow: the response has a deadline of its own and does not wait for
	// those of pipelined requests.
	writeNow bool
}

// fixedSettings are what the settings of the server come to, which don't change
// while it serves.
type fixedSettings struct {
	name      string // what Server says by default
	lim       h1.Limits
	each      requestLimits // of each request, if no hook decides otherwise
	requests  uint64        // after so many a connection ends
	headFirst bool          // a head must be looked at before its request is served
	keepNames bool          // DisableHeaderNamesNormalizing
	look      look          // what every response is like
	lazyTime  bool
}

// minTarget is the longest request-target in bytes that small limits of the head
// leave room for (RFC 9112 section 3 recommends 8000 for the request line).
const minTarget = 8 << 10

func (s *Server) fixed() fixedSettings {
	head := s.maxHeadBytes()
	var every look
	if s.NoDefaultDate {
		every |= noDate
	}
	if s.NoDefaultContentType {
		every |= noType
	}
	requests := uint64(math.MaxUint64)
	if s.MaxRequestsPerConn > 0 {
		requests = uint64(s.MaxRequestsPerConn)
	}
	return fixedSettings{
		name: s.serverName(),
		lim:  h1.Limits{Head: head, Fields: s.MaxHeaderFields, Target: max(head/4, minTarget)},
		each: requestLimits{
			maxBody:      s.maxBodySize(),
			readTimeout:  s.ReadTimeout,
			writeTimeout: s.WriteTimeout,
			stream:       s.StreamRequestBody,
		},
		requests:  requests,
		headFirst: s.HeaderReceived != nil || s.GetOnly || s.ReadTimeout > 0,
		keepNames: s.DisableHeaderNamesNormalizing,
		look:      every,
		lazyTime:  s.LazyRequestTime,
	}
}

// maxBatch is how much output is gathered before it is written although more
// requests have arrived.
const maxBatch = 16 << 10

var connIDs atomic.Uint64

// sessions are sessions whose connections have ended in order.
var sessions sync.Pool

// newSession returns a session for a connection of l.
func newSession(s *Server, l *listening) *session {
	ss, ok := sessions.Get().(*session)
	if !ok {
		ss = new(session)
	}
	ss.s, ss.l = s, l
	return ss
}

// addr returns the address that the connection counts for, or none.
func (ss *session) addr() netip.Addr {
	if rare := ss.rare.Load(); rare != nil {
		return rare.ip
	}
	return netip.Addr{}
}

// free makes the session ready for another connection, unless a context that
// others may hold knows it.
func (ss *session) free() {
	if ss.shared || ss.hijacked() {
		return
	}
	*ss = session{}
	sessions.Put(ss)
}

// Open begins the session.
func (ss *session) Open(c engine.Conn, next *engine.Next) {
	s := ss.s
	ss.cfg = &ss.l.fixed.each
	ss.c, ss.nc = c, c.NetConn()
	ss.id, ss.opened = connIDs.Add(1), clock.Instant()
	_, ss.isTLS = ss.nc.(interface{ ConnectionState() tls.ConnectionState })
	if s.BaseContext != nil {
		ss.extra().parent = s.BaseContext(ss.l.ln)
	}
	if s.ConnContext != nil {
		parent := ss.parent()
		if parent == nil {
			parent = context.Background()
		}
		ss.extra().parent = s.ConnContext(parent, ss.nc)
	}
	next.Idle = true
	if d := s.headTimeout(); d > 0 {
		next.Deadline = clock.TickOf(ss.opened).Add(d)
	}
}

// Feed serves the requests in w. A panic of user code other than the handler
// (hooks, body streams, closers of user values) is logged and ends the
// connection.
func (ss *session) Feed(w *engine.Work, next *engine.Next) {
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
func (ss *session) broke(r any, next *engine.Next) {
	ctx := ss.ctx
	if ctx != nil {
		ss.wrest(ctx)
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

func (ss *session) feed(w *engine.Work, next *engine.Next) {
	for {
		if ss.stage == inHead {
			ss.skipEmptyLines(w)
			if len(w.Unread()) == 0 {
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

// maxEmptyLines is how many empty lines before a request are ignored.
const maxEmptyLines = 8

// skipEmptyLines drops empty lines between requests (RFC 9112 section 2.2): some
// clients send one behind a body. They are no beginning of a request.
func (ss *session) skipEmptyLines(w *engine.Work) {
	for b := w.Unread(); len(b) >= 2 && b[0] == '\r' && b[1] == '\n' && ss.emptyLines < maxEmptyLines; b = w.Unread() {
		w.Consume(2)
		ss.emptyLines++
	}
}

// idle waits for the next request.
func (ss *session) idle(w *engine.Work, next *engine.Next) {
	next.Idle = true
	if ss.num == 0 {
		if d := ss.s.headTimeout(); d > 0 {
			next.Deadline = clock.TickOf(ss.opened).Add(d)
		}
		return
	}
	ss.setState(StateIdle)
	if d := ss.s.idleTimeout(); d > 0 {
		next.Deadline = clock.Ticks().Add(d) // w.Now is before the handler ran
	}
}

func (ss *session) setState(st ConnState) {
	if ss.s.ConnState != nil {
		ss.tellState(st)
	}
}

func (ss *session) tellState(st ConnState) {
	if ss.state != uint8(st) {
		ss.state = uint8(st)
		ss.s.ConnState(ss.nc, st)
	}
}

// take returns the context for the message in flight: the one that is held, the
// one that the workspace brought, or a fresh one.
func (ss *session) take(w *engine.Work) *RequestCtx {
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

// reuseContexts says whether contexts serve one request after the other. With
// the race detector they don't: what holds one too long then shows as what it
// is, a use of memory that is nobody else's, and not as a race of two requests
// far from each other.
var reuseContexts = !race.Enabled

// drop gives the context to the workspace, for the next message.
func (ss *session) drop(w *engine.Work) {
	ctx := ss.ctx
	ss.ctx = nil
	if !reuseContexts {
		ctx.poison()
		return
	}
	if w.State == nil {
		w.State = ctx
		return
	}
	releaseCtx(ctx)
}

// poison overwrites what the contexts of ended requests leave behind, for programs
// built with the race detector: bytes that a handler kept show as what they are, and
// whoever is reading them is reported.
func (ctx *RequestCtx) poison() {
	for _, b := range [...][]byte{ctx.Request.Header.s.Buf, ctx.Response.Header.s.Buf, ctx.Request.uri.buf} {
		race.Poison(b)
	}
	for _, c := range [...]*content{&ctx.Request.content, &ctx.Response.content} {
		if c.body != nil {
			race.Poison(c.body.B)
		}
	}
}

var ctxPool sync.Pool

func acquireCtx() *RequestCtx {
	if ctx, ok := ctxPool.Get().(*RequestCtx); ok {
		return ctx
	}
	ctx := new(RequestCtx)
	ctx.reset()
	return ctx
}

func releaseCtx(ctx *RequestCtx) { ctxPool.Put(ctx) }

// keepScan is how much of an unfinished head is parsed again when more of it
// arrives, rather than hold a context for it.
const keepScan = 4 << 10

// feedHead parses a request head and decides on the request by it; false means
// that next is to be done first.
func (ss *session) feedHead(w *engine.Work, next *engine.Next) bool {
	if ss.begun == 0 {
		ss.begun = w.Now
		ss.setState(StateActive)
	}
	ctx := ss.take(w)
	in := w.Unread()
	head := &ctx.Request.Header.s
	n, err := h1.ParseRequest(in, head, &ss.l.fixed.lim)
	if err != nil {
		if err != h1.ErrPartial {
			if len(head.Buf) == 0 {
				head.Reset() // what was recorded has no bytes behind it
			}
			return ss.refuse(w, err, next)
		}
		if len(in) <= keepScan {
			head.Reset()
			ss.drop(w)
		}
		if d := ss.s.headTimeout(); d > 0 {
			ss.excuseWait()
			since := ss.begun
			if ss.num == 0 {
				since = clock.TickOf(ss.opened)
			}
			next.Deadline = since.Add(d)
		}
		return false
	}
	w.Consume(n)
	ss.num++
	ss.prepare(ctx, w)
	return ss.accept(ctx, w, next)
}

// excuseWait lets the time of a pipelined message begin now if all that has
// arrived of it waited for the handler of the one before.
func (ss *session) excuseWait() {
	if ss.begun == ss.ran {
		ss.begun = clock.Ticks()
	}
}

// prepare makes the context that of the request whose head it holds.
func (ss *session) prepare(ctx *RequestCtx, w *engine.Work) {
	ctx.s, ctx.ss, ctx.num = ss.s, ss, ss.num
	head := &ctx.Request.Header.s
	ss.req.method, ss.req.minor, ss.req.keepAlive = head.MethodID, head.Minor, h1.KeepAlive(head)
	ss.req.tunnel = head.MethodID == msg.MethodConnect && head.Form != msg.FormOrigin
	ss.req.plain = head.Minor > 0 && head.MethodID != msg.MethodHead && head.MethodID != msg.MethodConnect
	ctx.isTLS = ss.isTLS
	ctx.Request.isTLS = ss.isTLS
	if ss.l.fixed.keepNames {
		ctx.Request.Header.DisableNormalizing()
	}
	ss.prepareResponse(ctx)
}

// prepareResponse makes a response that was reset one of this server.
func (ss *session) prepareResponse(ctx *RequestCtx) {
	ctx.Response.Header.defaultServer = ss.l.fixed.name
	if ss.l.fixed.keepNames {
		ctx.Response.Header.DisableNormalizing()
	}
}

// Stall ends the connection when nothing more comes.
func (ss *session) Stall(w *engine.Work, why error, next *engine.Next) {
	if engine.IsTimeout(why) {
		ss.s.stats.timeouts.Add(1)
	}
	if ss.begun == 0 {
		switch {
		case engine.IsTimeout(why) && ss.num == 0 && ss.s.ReadTimeout > 0 && !ss.s.ReduceMemoryUsage:
			// Who sets ReadTimeout expects an answer, as programs that open a
			// connection and wait do. Otherwise none is due: browsers open
			// connections ahead of need.
			ss.refuse(w, ErrTimeout, next)
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
		ss.take(w)
		ss.refuse(w, ErrTimeout, next)
		ss.err = why
		return
	case why == io.EOF && ss.stage == inBody:
		ss.refuse(w, io.ErrUnexpectedEOF, next)
		return
	case why == io.EOF:
		why = io.ErrUnexpectedEOF
	}
	ss.err = why
	next.Op = engine.Abort
}

// Closed is the end of the connection.
func (ss *session) Closed(err error) {
	if ss.err == nil {
		ss.err = err
	}
	if ctx := ss.ctx; ctx != nil {
		ss.wrest(ctx)
		defer ss.abandon(ctx)
	}
	if ss.detached {
		return
	}
	if ss.err != nil && ss.err != engine.ErrAborted {
		ss.s.logError(ss.nc, "serving", ss.err)
	}
	ss.s.setState(ss.nc, StateClosed)
}

// Hijacked lets the handler that asked for it have the connection.
func (ss *session) Hijacked(c net.Conn) {
	h := ss.extra().hijack
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("in a HijackHandler", r, stack())
		}
		if !ss.s.KeepHijackedConns {
			c.Close()
		}
	}()
	ss.setState(StateHijacked)
	h(c)
}
