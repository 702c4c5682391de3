package gale

import (
	"context"
	"net"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// What a Server does with a request, whatever brings it, in this order: beginRequest, start if
// RequestStarted is set, judge, handle or handleRefused, wrestLate, choose, endRequest. Servers of other
// packages make a context by Init2, run the handler, and choose and end by door.Serving.

// beginRequest prepares ctx for the request that x has brought. num is its number on the
// connection. The head of the request, or what was read of it, is in ctx. The compiler inlines this.
func (sc *serverConn) beginRequest(ctx *RequestCtx, x exchange, num uint64) {
	ctx.s, ctx.x, ctx.num = sc.s, x, num
	ctx.isTLS, ctx.Request.isTLS = sc.isTLS, sc.isTLS
	ctx.Response.Header.defaultServer = sc.l.fixed.name
	if sc.l.fixed.keepNames {
		ctx.Request.Header.s.Spelling, ctx.Response.Header.s.Spelling = msg.AsGiven, msg.AsGiven
	}
}

// verdict is what a server decides about a request by its head.
type verdict uint8

const (
	accepted verdict = iota // its body is read, and the handler called
	awaited                 // likewise, and the client waits for a 100 (Continue) before it sends the body
	refused                 // because of the error
	answered                // a hook has begun the response, timed out, or taken the connection over
)

// limited is an exchange, which takes limits for its request.
type limited interface {
	// override applies what a hook has returned. bounds says that the limit of the body also holds for a
	// streamed one.
	override(c RequestConfig, bounds bool) *requestLimits
}

// start lets RequestStarted look at the request whose head is in ctx, and gives x the limits that it returns.
// It reports whether RequestStarted has answered the request.
func (sc *serverConn) start(ctx *RequestCtx, x limited, o *outcome) (answers bool) {
	ctx.reach = running // no other goroutine has ctx yet
	c := sc.s.RequestStarted(ctx)
	if sc.hasAnswered(ctx, o) {
		return true
	}
	n := ctx.Request.Header.s.ContentLength
	hasBody := n != 0 && n != msg.LenUnknown
	if !hasBody && !c.changes() {
		return false
	}
	if limits := x.override(c, true); hasBody && !limits.stream {
		ctx.pauseDone()
	}
	return false
}

// hasAnswered reports whether a hook that has returned has answered the request of ctx. What else the hook has
// set in the response stays for the handler.
func (sc *serverConn) hasAnswered(ctx *RequestCtx, o *outcome) bool {
	if *o == tookConn || ctx.timedOut.Load() != nil {
		return true // a late hook still uses ctx
	}
	ctx.keepConn()
	return ctx.flush.begun // no other answer may follow
}

// judge decides about the request whose head is in ctx: its method, its expectation (RFC 9110 section
// 10.1.1) and the length of its body. It may run hooks of the program.
func (sc *serverConn) judge(ctx *RequestCtx, limits *requestLimits, o *outcome) (verdict, error) {
	head := &ctx.Request.Header.s
	switch {
	case sc.s.GetOnly && head.MethodID != msg.MethodGet && head.MethodID != msg.MethodHead:
		return refused, ErrGetOnly
	case head.Expect == msg.ExpectOther:
		return refused, errExpectation
	case limits.refuse != 0:
		return refused, limits.refusal()
	case head.ContentLength > int64(limits.maxBody) && (!limits.stream || limits.bounded):
		return refused, ErrBodyTooLarge
	case head.Expect == msg.ExpectNone, head.Minor == 0, head.ContentLength == 0, head.ContentLength == msg.LenUnknown:
		return accepted, nil
	case sc.s.ExpectHandler != nil:
		return sc.callExpectHandler(ctx, limits, o)
	case sc.s.ContinueHandler != nil && !sc.s.ContinueHandler(&ctx.Request.Header):
		return refused, errExpectation
	}
	return awaited, nil
}

// callExpectHandler lets ExpectHandler decide about a request whose client waits for a 100.
func (sc *serverConn) callExpectHandler(ctx *RequestCtx, limits *requestLimits, o *outcome) (verdict, error) {
	ctx.resumeDone()
	code := sc.s.ExpectHandler(ctx)
	if sc.hasAnswered(ctx, o) {
		return answered, nil
	}
	if sc.l.fixed.name != "" {
		ctx.Response.Header.Del(HeaderServer) // the name of the server replaces it, as in fasthttp
	}
	sc.prepareResponse(ctx) // it may have been reset
	if !limits.stream {
		ctx.pauseDone()
	}
	if code != StatusContinue {
		return refused, &statusError{code, ""}
	}
	return awaited, nil
}

// handle runs the handler of the server for ctx and reports whether it returned. It is guard,
// without a closure on the hot path.
func (sc *serverConn) handle(ctx *RequestCtx, o *outcome) (returned bool) {
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			sc.panicked(ctx, r, o)
		}
	}()
	if sc.l.fixed.hooked {
		ctx.note()
	}
	if formsFirst && !sc.s.DisablePreParseMultipartForm && ctx.Request.hasBrokenForm() {
		return true // the session refuses the body
	}
	sc.s.Handler(ctx)
	return true
}

// handleRefused is handle for a request that could not be read, or is refused, because of err:
// ErrorHandler makes the response, or the server does. A part of a body must not be seen.
func (sc *serverConn) handleRefused(ctx *RequestCtx, err error, o *outcome) (returned bool) {
	if sc.l.fixed.hooked {
		ctx.note()
	}
	ctx.Request.ResetBody()
	ctx.Response.Reset()
	sc.prepareResponse(ctx)
	if sc.s.ErrorHandler == nil {
		ctx.defaultError(err)
	} else {
		ctx.Response.Header.defaultServer = "" // set again after ErrorHandler
		if !sc.guard(ctx, o, func() { ctx.answerRefusal(err) }) {
			return false
		}
		if ctx.timedOut.Load() != nil {
			return true // ErrorHandler, which is late, uses the context
		}
		ctx.Response.Header.defaultServer = sc.s.serverName()
	}
	if !ctx.flush.begun && len(ctx.Response.Header.Peek(HeaderContentType)) > 0 {
		ctx.Response.Header.Set(HeaderXContentTypeOptions, "nosniff")
	}
	return true
}

// wrestLate reports whether goroutines of the handler may go on using ctx: it timed out, or has not
// returned. If so, it calls wrest. So a handler that returned may be late or not, and one that didn't
// is late.
func (ctx *RequestCtx) wrestLate(returned bool) (late bool) {
	if returned && ctx.timedOut.Load() == nil {
		return false
	}
	ctx.wrest()
	return true
}

// choose decides what ends a request whose handler has returned or timed out. It runs the functions of
// BeforeSend, unless Flush has done so, and returns the response to send, and what gets
// the connection after it, or in its place. The response is nil if what was sent must be broken off.
func (sc *serverConn) choose(ctx *RequestCtx, of door.HijackOf, o *outcome) (*Response, door.Hijack) {
	if *o == brokeConn || ctx.flush.begun && ctx.timedOut.Load() != nil {
		return nil, door.Hijack{}
	}
	resp, h := ctx.choose(of)
	if *o == brokeConn { // in a function of BeforeSend
		return nil, door.Hijack{}
	}
	return resp, h
}

// choose is serverConn.choose for servers that notice an abort themselves.
func (ctx *RequestCtx) choose(of door.HijackOf) (resp *Response, h door.Hijack) {
	asks, ok := ctx.asksHandover(), true
	if asks {
		if h, ok = ctx.grant(of); !ok {
			return nil, h
		}
		if h.NoResponse && !ctx.flush.begun && ctx.Response.readErr == nil {
			return &ctx.Response, h // it isn't sent, so no function of BeforeSend runs
		}
	}
	if resp, ok = ctx.final(); ok && asks {
		h, ok = ctx.grant(of) // a function of BeforeSend may have changed it
	}
	if !ok {
		return nil, door.Hijack{}
	}
	return resp, h
}

// grant returns what gets the connection, if the response of ctx grants that. It replaces a response
// that the client can't get. ok is false if a part of that was sent.
func (ctx *RequestCtx) grant(of door.HijackOf) (h door.Hijack, ok bool) {
	closes := of&door.HijackCloses != 0
	p := placeConn
	switch {
	case of&door.HijackNever != 0:
		return h, ctx.refuseHijack()
	case of&door.HijackStream != 0:
		p = placeStream
	case of&door.HijackTunnel != 0:
		p = placeTunnel
	}
	if p != placeStream {
		ctx.refuseSwitch(closes, of&door.HijackOld != 0)
	}
	if !closes && ctx.granted(&ctx.Response, p) {
		h = door.Hijack{Handler: ctx.handover.to, NoResponse: ctx.handover.silent && p != placeStream}
	}
	return h, true
}

// fate is what becomes of a context when its request has ended.
type fate uint8

const (
	ctxFree  fate = iota // nothing else has it: it may be reset, for another request
	ctxSpent             // it was guarded, and has lapsed: nothing in it refers to the exchange
	ctxLeft              // other goroutines may use it, and call the exchange
)

// endRequest ends a request, however it went. It is the last thing that an exchange does with it. It
// calls the functions of AfterSend that the exchange has not taken, closes Done, and gives up the
// context as far as others may use it: the program, after Detach; goroutines of a handler that timed
// out or panicked; package context, after Done. It runs code of the program.
//
// After ctxFree the context is still the exchange's. If endRequest doesn't return, that is as after
// ctxLeft.
func (ctx *RequestCtx) endRequest(e door.Ending) fate {
	if !e.Late && ctx.isAlone() {
		return ctxFree
	}
	return ctx.tellAndGiveUp(e)
}

// isAlone reports whether nothing is left to do at the end of a request whose handler has returned.
func (ctx *RequestCtx) isAlone() bool {
	return ctx.done.Load() == nil && ctx.loan == nil && len(ctx.after) == 0
}

// tellAndGiveUp is endRequest for a context that others may use, or with functions of AfterSend. One
// of these may not return.
func (ctx *RequestCtx) tellAndGiveUp(e door.Ending) (f fate) {
	returned := false
	defer func() {
		e.Late = e.Late || !returned // the exchange will not reset the context
		f = ctx.giveUp(e)
	}()
	ctx.tellSent(e.Sent, e.Err)
	returned = true
	return f
}

// giveUp is endRequest after the functions of AfterSend.
func (ctx *RequestCtx) giveUp(e door.Ending) fate {
	d := ctx.done.Load()
	switch {
	case ctx.timedOut.Load() != nil:
		ctx.wrest() // it may have timed out after wrestLate
		ctx.leaveLate()
		return ctxLeft
	case d != nil && d.detached.Load():
		ctx.wrest()
		ctx.leaveDetached()
		return ctxLeft
	case e.Kept:
		return ctxFree
	}
	if d != nil {
		ctx.endDone()
	}
	switch {
	case e.Late:
		ctx.abandon()
		return ctxLeft
	case d != nil && d.held.Load():
		ctx.wrest()
		defer ctx.dropBodies() // the handler has returned, so they belong to the server again
		ctx.abandon()
		return ctxLeft
	case ctx.loan != nil:
		ctx.expire()
		return ctxSpent
	}
	return ctxFree
}

// leaveLate leaves ctx to its handler, which has timed out, and then to the garbage collector. What must
// be closed is closed when the last handler has returned.
func (ctx *RequestCtx) leaveLate() {
	ctx.endDone()
	ctx.left.Store(true)
	ctx.leaveLoan()
	ctx.disposeLate()
}

// abandon leaves ctx to the goroutines that may hold it, which are not expected to use it, and then
// to the garbage collector: it closes what must be closed. User values stay, because Value may be
// called at any time, unless all of ctx lapses.
func (ctx *RequestCtx) abandon() {
	if ctx.loan != nil {
		defer ctx.endLoan()
	}
	ctx.dispose()
}

// dropBodies drops the bodies of an abandoned context, unless all of it has lapsed.
func (ctx *RequestCtx) dropBodies() {
	if ctx.loan == nil {
		ctx.Request.ResetBody()
		ctx.Response.ResetBody()
	}
}

// dispose closes and removes what ctx holds other than memory, such as files; ctx is not
// used again. Its user values stay: a goroutine may ask contexts that were derived from
// it for them at any time, also during this call.
func (ctx *RequestCtx) dispose() {
	if ctx.isDetached() {
		return // all of it belongs to the program
	}
	defer func() { _ = ctx.Response.closeStream(nil) }() // each, even if code of the program doesn't return
	defer func() { _ = ctx.Request.closeStream(nil) }()
	defer ctx.Request.removeForm()
	ctx.Request.userValues.close()
}

// wrest separates ctx from its exchange, when other goroutines may go on using ctx: their calls
// fail from now on. If one of them is sending, that fails, too, and wrest waits until it has; the
// response is then incomplete.
func (ctx *RequestCtx) wrest() {
	x := ctx.bringer()
	if ctx.part(x) {
		x.Interrupt() // the client may read slowly, or never
		ctx.awaitSend()
	}
}

func init() { door.Serve = func(ctx any) door.Serving { return servingCtx{ctx.(*RequestCtx)} } }

// servingCtx is a RequestCtx for the other packages of this module, see door.Serving.
type servingCtx struct{ ctx *RequestCtx }

func (v servingCtx) Head() *head.Request {
	used(v.ctx.loan)
	return &v.ctx.Request.Header.s
}

func (v servingCtx) ResponseHead() *head.Response {
	used(v.ctx.loan)
	return &v.ctx.Response.Header.s
}

func (v servingCtx) Parent() context.Context { return v.ctx.bringer().Context() }
func (v servingCtx) Conn() net.Conn          { return v.ctx.bringer().Conn() }

func (v servingCtx) Unhurried() *door.Unhurried {
	used(v.ctx.loan)
	return v.ctx.requestDone().notHurried()
}

func (v servingCtx) Patient() *door.Unhurried {
	used(v.ctx.loan)
	return v.ctx.requestDone().notHalved()
}

func (v servingCtx) Peer() net.Conn {
	if v.ctx.remoteAddr != nil {
		return nil
	}
	return v.ctx.bringer().Conn()
}

func (v servingCtx) WriteStall() (d time.Duration, known bool) {
	ctx := v.ctx
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if x, ok := ctx.bringer().(interface{ stallLimit() time.Duration }); ok && ctx.reaches() {
		return x.stallLimit(), true
	}
	return 0, false
}

func (v servingCtx) Bodiless() { v.ctx.Request.Header.s.ContentLength = msg.LenUnknown }

func (v servingCtx) Lend(handler any) { lendOutside(v.ctx, handler.(RequestHandler)) }

func (v servingCtx) Choose(of door.HijackOf) (any, door.Hijack) {
	if resp, h := v.ctx.choose(of); resp != nil {
		return resp, h
	}
	return nil, door.Hijack{}
}

func (v servingCtx) Final() any {
	if resp, ok := v.ctx.final(); ok {
		return resp
	}
	return nil
}

func (v servingCtx) End(e door.Ending) (free bool) { return v.ctx.endRequest(e) == ctxFree }
