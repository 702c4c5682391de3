package gale

import (
	"sync/atomic"
	"time"
)

// TimeoutHandler returns a handler that runs h on another goroutine and answers 408 with
// msg if h takes longer than timeout. After the timeout h goes on running and keeps its
// context, whose Done channel is closed to tell it to stop. Shutdown doesn't wait for it then. At
// most Server.Concurrency such handlers run at a time in a server; beyond that the answer is 429
// with msg.
//
// It limits the time of h, not of what is sent after h, such as the output of a function
// given to SetBodyStreamWriter. If h has already sent a part with Flush when the timeout
// expires, the response is aborted. Later calls of Flush fail, and one that waits for the
// client returns ErrTimeout. If timeout is 0 or negative, TimeoutHandler returns h.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler is TimeoutHandler with statusCode in place of 408.
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	if timeout <= 0 {
		return h
	}
	return func(ctx *RequestCtx) {
		s := ctx.server()
		if int(s.run.timed.Add(1)) > s.concurrency() {
			s.run.timed.Add(-1)
			ctx.Error(msg, StatusTooManyRequests)
			return
		}
		ctx.timed.Add(1)
		ctx.noteForLate()
		ended := make(chan any, 1)
		var over atomic.Bool // set by the handler or the timeout, whichever is first
		go s.runTimed(ctx, h, &over, ended)
		t := AcquireTimer(timeout)
		defer ReleaseTimer(t)
		var v any
		select {
		case v = <-ended:
		case <-t.C:
			if over.CompareAndSwap(false, true) {
				ctx.timeOut(msg, statusCode)
				ctx.timeOutDone()
				return
			}
			v = <-ended
		}
		if v != nil {
			panic(v) // as if h had run here
		}
	}
}

// runTimed runs h, which has a time limit, on a goroutine of its own. If it ends before over is set, ended
// gets nil, or the value of its panic.
func (s *Server) runTimed(ctx *RequestCtx, h RequestHandler, over *atomic.Bool, ended chan<- any) {
	var v any = errHandlerGoexit
	panicOnFault()
	defer func() {
		if r := recover(); r != nil {
			v = &handlerPanic{value: r, stack: stack()}
		}
		s.run.timed.Add(-1)
		if over.CompareAndSwap(false, true) {
			ctx.timed.Add(-1)
			ended <- v
		} else {
			s.endLate(ctx, v)
		}
	}()
	h(ctx)
	v = nil
}

// endLate is called when a handler that had timed out ends. v is nil if it returned, else
// the value of its panic.
func (s *Server) endLate(ctx *RequestCtx, v any) {
	defer func() {
		if r := recover(); r != nil {
			s.logPanic("after a handler that had timed out", r, stack())
		}
	}()
	if p, ok := v.(*handlerPanic); ok && !isAbort(p.value) {
		s.logHandlerPanic("in a handler that had timed out,", ctx, p.value, p.stack)
	}
	ctx.late.Store(true)
	ctx.timed.Add(-1)
	ctx.disposeLate()
}

// disposeLate disposes of a context if three conditions hold: all handlers that (nested)
// TimeoutHandlers have begun have ended, one of them was late, and the exchange has
// abandoned the context. Until then functions of BeforeSend may use what the context
// holds.
func (ctx *RequestCtx) disposeLate() {
	if _, none := ctx.bringer().(noExchange); !none && !ctx.left.Load() {
		return
	}
	if ctx.timed.Load() == 0 && ctx.late.CompareAndSwap(true, false) {
		ctx.dispose()
	}
}

// TimeoutError makes the server answer with 408 and msg, whatever the response is when
// the handler returns. The server leaves ctx and its request to the goroutines that still
// use them, and doesn't use them again. If another goroutine still holds ctx, this method
// must be called before the handler returns.
//
// It may be called while other goroutines use ctx. Unless Detach was called before, it
// removes the temporary files of a form (see MultipartForm) from disk. Another goroutine can go on using files that it has
// opened (except on Windows), but can't open other files of the form or parse a form from
// then on. User values and the body stream of the response are not closed: call
// Response.CloseBodyStream when no other goroutine uses ctx, because a connection of a client
// may belong to that stream. TimeoutHandler removes the files and closes all of it when its
// handler has returned.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	used(ctx.loan)
	ctx.timeOut(msg, statusCode)
	ctx.endForms()
}

// endForms removes the files of forms, unless Detach has given them to the program.
func (ctx *RequestCtx) endForms() {
	if !ctx.isDetached() {
		ctx.Request.endForms()
	}
}

// timeOut is TimeoutErrorWithCode for TimeoutHandler. The goroutine of TimeoutHandler
// removes what the request holds when the handler has returned.
func (ctx *RequestCtx) timeOut(msg string, statusCode int) {
	resp := &Response{}
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	ctx.setTimedOut(resp)
}

func (ctx *RequestCtx) setTimedOut(resp *Response) {
	ctx.timedOut.Store(resp)
	ctx.given.Store(true)
}

// TimeoutErrorWithResponse is TimeoutError with a copy of resp as the response.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	used(ctx.loan)
	c := &Response{}
	resp.CopyTo(c)
	ctx.setTimedOut(c)
	ctx.endForms()
}

// LastTimeoutErrorResponse returns the response of the last TimeoutError call,
// nil if there was none.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	used(ctx.loan)
	return ctx.timedOut.Load()
}
