package gale

import (
	"sync/atomic"
	"time"
)

// TimeoutHandler returns a handler that runs h and answers 408 with msg if it
// takes longer than timeout. h goes on with the context to itself; its Done
// channel tells it to stop. At most Server.Concurrency such handlers run at a
// time for a server; beyond that the answer is 429 with msg.
//
// It bounds h, not what is sent after it, such as the output of a function
// given to SetBodyStreamWriter. If h has sent a part with Flush when its time is
// over, the response is broken off; its next Flush fails, and one that waits for
// the client to read ends with ErrTimeout. With a timeout of 0 or less h is
// returned as it is.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler is TimeoutHandler that answers with statusCode.
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
		ctx.noteHooked()
		ended := make(chan any, 1)
		var over atomic.Bool // of the handler and the time-out, one was first
		go func() {
			var v any = errHandlerGoexit
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
		}()
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

// endLate ends a handler that had timed out; v is nil if it returned.
func (s *Server) endLate(ctx *RequestCtx, v any) {
	defer func() {
		if r := recover(); r != nil {
			s.logPanic("behind a handler that had timed out", r, stack())
		}
	}()
	if p, ok := v.(*handlerPanic); ok && !isAbort(p.value) {
		s.logHandlerPanic("in a handler that had timed out,", ctx, p.value, p.stack)
	}
	ctx.late.Store(true)
	ctx.timed.Add(-1)
	ctx.disposeLate()
}

// disposeLate disposes of a context once the last of the handlers has ended that
// TimeoutHandlers, one around the other, have begun, one of them was late, and the exchange
// has abandoned the context: until then, functions of BeforeSend may use what it holds.
func (ctx *RequestCtx) disposeLate() {
	if _, none := ctx.bringer().(noExchange); !none && !ctx.left.Load() {
		return
	}
	if ctx.timed.Load() == 0 && ctx.late.CompareAndSwap(true, false) {
		ctx.dispose()
	}
}
