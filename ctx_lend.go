package gale

import (
	"time"

	"github.com/galehttp/gale/internal/lifetime"
)

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
