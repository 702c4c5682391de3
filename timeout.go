package gale

import (
	"time"
)

// TimeoutHandler returns a handler that runs h and answers 408 with msg if it
// takes longer than timeout. h goes on with the context to itself; its Done
// channel tells it to stop. At most Server.Concurrency such handlers run at a
// time for a server; beyond that the answer is 429 with msg.
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
		ended := make(chan any, 1)
		go func() {
			var v any = errHandlerGoexit
			defer func() {
				if r := recover(); r != nil {
					v = &handlerPanic{value: r, stack: stack()}
				}
				s.run.timed.Add(-1)
				ended <- v
			}()
			h(ctx)
			v = nil
		}()
		t := AcquireTimer(timeout)
		defer ReleaseTimer(t)
		select {
		case v := <-ended:
			if v != nil {
				panic(v) // as if h had run here
			}
		case <-t.C:
			ctx.TimeoutErrorWithCode(msg, statusCode)
			ctx.cancelDone()
		}
	}
}

// cancelDone closes Done if somebody waits for it.
func (ctx *RequestCtx) cancelDone() {
	if d := ctx.done.Load(); d != nil {
		d.cancel(ErrTimeout)
	}
}
