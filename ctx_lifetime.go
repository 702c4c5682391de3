package gale

import (
	"fmt"
	"time"

	"github.com/galehttp/gale/internal/lifetime"
)

// Detach makes ctx belong to the program for good, and returns it. Call it in the handler,
// or in code that the handler calls, if another goroutine will use ctx after the handler
// has returned:
//
//	go audit(ctx.Detach())
//
// ctx, its request, its response, and all bytes and objects that their methods return are
// then never used for another request. They may be kept, and the garbage collector frees
// them. Requests without Detach cost nothing more because of it. One with Detach costs a
// new RequestCtx, and a copy of the request's header. A second call has no effect.
//
// The request and the user values may be used by the other goroutine at once. As with most
// methods of ctx, only one goroutine at a time may use them, and the handler counts. The
// response stays with the handler, and then with the server, which sends it when the
// handler returns, as without Detach. Another goroutine may use Response when Done, called
// after Detach, is closed: that is after the server has used ctx for the last time. The
// client leaving and a shutdown don't close it earlier, so the handler must not wait for
// it. They end Context, whose contexts the other goroutine should work with: it ends early,
// when the client leaves, the server shuts down, or the response was sent. context.Cause is
// the same for both.
//
// When the request was answered, nothing can be sent for it any more: Flush, EarlyHints,
// SendInterim, HijackNow, SetReadDeadline, SetWriteDeadline, and Read of a streamed body
// return errors for which errors.Is(err, ErrRequestDone) is true. A body that is not a
// stream can still be read. The unread rest of a stream is lost: as without Detach, the
// server reads it or closes the connection. Call PostBody before the handler returns to
// keep a streamed body. Shutdown doesn't wait for goroutines that use detached contexts.
//
// The server doesn't close user values that implement io.Closer. ResetUserValues does.
// Temporary files of a form (see MultipartForm) are removed by
// Request.RemoveMultipartFormFiles, or when the garbage collector finds that the program
// has dropped all multipart.FileHeaders of the form.
//
// Functions of BeforeSend, and PanicHandler and ErrorHandler after a panic, don't get ctx,
// because another goroutine may be using it. They get a different context with the same
// response, as described at BeforeSend for a timeout: the request in it has no body, and
// the request and the user values are those of the call of Detach.
//
// After one of the TimeoutError methods, or in a handler that TimeoutHandler has timed
// out, other goroutines may use ctx even without Detach, and Response belongs to them.
// Detach then keeps user values open and, unless TimeoutError came first, form files on
// disk, if it is called before the handler returns. Done is closed at the timeout. Detach
// in Server.ExpectHandler gives the request to other goroutines when the handler begins,
// because the server still receives the body before. After the handler has returned,
// Detach has no effect and must not be called. It has none for a context that Init or
// Init2 made, which belongs to its maker.
func (ctx *RequestCtx) Detach() *RequestCtx {
	d := ctx.requestDone()
	if lapsed(ctx.loan) || d == overDone || d.detached.Load() {
		return ctx
	}
	_ = d.context() // made later, it could have the cause of a parent that has ended since
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.reach == running {
		ctx.note()
	}
	ctx.Request.ownForms()
	d.detach()
	ctx.given.Store(true)
	return ctx
}

// isDetached reports whether Detach was called.
func (ctx *RequestCtx) isDetached() bool {
	d := ctx.done.Load()
	return d != nil && d.detached.Load()
}

// leaveDetached ends the request of a detached context, after the functions of AfterSend and
// part. When Done is closed, the server doesn't use ctx any more.
func (ctx *RequestCtx) leaveDetached() {
	defer ctx.endDone() // last, also if code of the program doesn't return
	defer ctx.leaveLoan()
	defer func() {
		ctx.mu.Lock()
		defer ctx.mu.Unlock()
		ctx.seen, ctx.hooks = snapshot{}, nil
	}()
	_ = ctx.Response.closeStream(nil)
}

// Errors of a detached context whose request was answered.
var (
	errAnswered         = fmt.Errorf("%w (%w)", ErrRequestDone, ErrNilConnection)
	errAnsweredDeadline = fmt.Errorf("%w (%w)", ErrRequestDone, ErrDeadlineUpdatesDisabled)
)

// unreachable returns the error of a method that needs the exchange, when reaches is
// false: answered if ctx is detached and its request was answered, else err. The caller
// holds mu.
func (ctx *RequestCtx) unreachable(err, answered error) error {
	if d := ctx.done.Load(); d != nil && d.detached.Load() && ctx.timedOut.Load() == nil && d.isOver() {
		return answered
	}
	return err
}

// runHooksAside runs functions of BeforeSend for a detached context, which another
// goroutine may be using, except for its response.
func (ctx *RequestCtx) runHooksAside(hooks []func(*RequestCtx)) (ok bool) {
	in := ctx.standIn()
	in.handover = ctx.handover
	ctx.Response.moveTo(&in.Response)
	ok = in.runHooks(hooks)
	in.Response.moveTo(&ctx.Response)
	ctx.handover = in.handover
	ctx.hookPanicked = in.hookPanicked
	ctx.takeAfterOf(in)
	if ok {
		ctx.hookStage.Store(hooksDone)
	}
	return ok
}

// panickedDetached makes the response for a handler that panicked after Detach.
func (sc *serverConn) panickedDetached(ctx *RequestCtx, r any, trace []byte, o *outcome) {
	in := ctx.standIn()
	ctx.Response.moveTo(&in.Response)
	in.hookStage.Store(ctx.hookStage.Load())
	in.failing = ctx.failing
	ctx.keepConn()
	sc.answerPanic(in, r, trace, o)
	resp := in.timedOut.Load()
	if resp == nil {
		resp = &in.Response
	}
	resp.moveTo(&ctx.Response)
	ctx.Response.SetConnectionClose()
	ctx.mu.Lock()
	ctx.hooks = append(ctx.hooks, in.hooks...)
	ctx.mu.Unlock()
	ctx.takeAfterOf(in)
}

// lend makes ctx and its messages part of l: what they hold moves to memory of l, and
// grows there from now on. It is called before anything of ctx was lent. ctx never goes
// back to a pool.
func (ctx *RequestCtx) lend(l *lifetime.Loan) {
	ctx.loan = l
	ctx.Request.lend(l)
	ctx.Response.lend(l)
	ctx.trailers.Lend(l)
}

// renew ends the bytes that ctx has lent to its handler, which has returned, before code of
// the program makes the body of resp: ctx stays, but must not lend these bytes to that code.
// It does so only if nothing else may use them: no reader that the library made of the
// request, and no file of a form, which may be the body.
//
// It needs pages. The server waits for that code, so that its bytes are right without a
// guard, and frameworks use them. To overwrite them would change responses without a report.
func (ctx *RequestCtx) renew(resp *Response) {
	req, l := &ctx.Request, ctx.loan
	if !l.Guard().HasPages() || resp != &ctx.Response || ctx.flush.begun || ctx.isDetached() || req.writer != nil || req.hasStream() ||
		req.form != nil && len(req.form.File) > 0 || !resp.madeByProgram() {
		return
	}
	l.Renew(l.Origin.Kind, func() {
		req.move(l)
		resp.move(l)
		ctx.trailers.Lend(l)
	})
}

// lapse empties ctx at the end of its loan, when its request is over: closers and
// functions of AfterSend have run, and the context of Done has ended. That context stays,
// and so do the user values if package context may ask for them.
func (ctx *RequestCtx) lapse() {
	ctx.Request.lapse()
	ctx.Response.lapse()
	ctx.trailers.Lapse()
	ctx.route = nil
	if !ctx.isHeld() {
		ctx.Request.userValues = nil
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.x, ctx.reach, ctx.isTLS = nil, over, false
	ctx.tick, ctx.now, ctx.num = 0, time.Time{}, 0
	ctx.remoteAddr, ctx.logger = nil, nil
	ctx.keepConn()
	ctx.hooks, ctx.after, ctx.afterTaken = nil, nil, true
	ctx.timedOut.Store(nil)
	if ctx.seen.req != nil {
		ctx.seen.forget()
	}
}

// leaveLoan gives what a guarded context has lent to the program, which goes on using ctx.
// The loan doesn't end.
func (ctx *RequestCtx) leaveLoan() {
	if ctx.loan != nil {
		ctx.loan.Leave()
	}
}

// isHeld reports whether package context may hold ctx.
func (ctx *RequestCtx) isHeld() bool {
	d := ctx.done.Load()
	return d != nil && d.held.Load()
}

// lateValue is Value of a context that has lapsed. If package context may hold it, it
// still has its user values and those of the connection's context.
func (ctx *RequestCtx) lateValue(key any) any {
	if !ctx.isHeld() {
		ctx.loan.Use()
	}
	if own := ctx.ownContext(key); own != nil {
		return own
	}
	if v := ctx.Request.userValues.get(key); v != nil {
		return v
	}
	return ctx.requestDone().values().Value(key)
}
