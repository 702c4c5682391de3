package gale

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// ErrAbortHandler is the value for a panic in a handler that ends the connection (of
// HTTP/2, the stream) without a response and without a line in the log:
// panic(gale.ErrAbortHandler).
var ErrAbortHandler = errors.New("gale: the handler aborted the request")

// errHandlerGoexit is the error for a handler that called runtime.Goexit.
var errHandlerGoexit = errors.New("gale: the handler called runtime.Goexit")

// handlerPanic carries a panic and its stack to the goroutine of the session.
type handlerPanic struct {
	value any
	stack []byte
}

// Error is for servers of other packages, which log the value of a panic.
func (p *handlerPanic) Error() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// Unwrap returns the value, if it is an error such as ErrAbortHandler.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// guard runs f and reports whether it returned. If f panics, the panic is logged and
// counted, and the response becomes a 500. If f panics with ErrAbortHandler, or a part of
// the response was already sent, the connection must be aborted: then guard sets o.
func (sc *serverConn) guard(ctx *RequestCtx, o *outcome, f func()) (ok bool) {
	defer func() {
		if ok {
			return
		}
		if r := recover(); r != nil {
			sc.panicked(ctx, r, o)
		}
		// Otherwise runtime.Goexit continues, and the session ends the request.
	}()
	f()
	return true
}

// panicked makes the response for a handler that panicked with r.
func (sc *serverConn) panicked(ctx *RequestCtx, r any, o *outcome) {
	s := sc.s
	trace := []byte(nil)
	if hp, ok := r.(*handlerPanic); ok {
		r, trace = hp.value, hp.stack
	}
	if isAbort(r) {
		o.abort()
		return
	}
	if trace == nil {
		trace = stack()
	}
	r = s.lateUse(r, trace)
	if ctx.timedOut.Load() != nil {
		// The response is already made, and other goroutines use the context.
		s.logPanic("in a handler that called TimeoutError", r, trace)
		return
	}
	if ctx.bringer().Reading() {
		ctx.CloseRequestBody() // or another goroutine's Read may change the request, which is read now
	}
	if ctx.flush.begun || *o == tookConn {
		s.logHandlerPanic("in a handler", ctx, r, trace)
		o.abort()
		return
	}
	if ctx.isDetached() {
		sc.panickedDetached(ctx, r, trace, o)
		return
	}
	sc.answerPanic(ctx, r, trace, o)
}

// answerPanic logs a panic of a handler and makes the response.
func (sc *serverConn) answerPanic(ctx *RequestCtx, r any, trace []byte, o *outcome) {
	s := sc.s
	s.logHandlerPanic("in a handler", ctx, r, trace)
	sc.beginPanicAnswer(ctx)
	answered := true
	switch {
	case s.PanicHandler != nil:
		ctx.errorBody(StatusInternalServerError, "")
		answered = sc.callPanicHandler(ctx, func() { s.PanicHandler(ctx, r) })
	case s.ErrorHandler != nil && !ctx.failing:
		answered = sc.callPanicHandler(ctx, func() { ctx.handleError(&PanicError{Value: r, Stack: trace}) })
		if ctx.timedOut.Load() == nil {
			ctx.SetStatusCode(StatusInternalServerError)
		}
	default:
		ctx.errorBody(StatusInternalServerError, "")
	}
	switch {
	case !answered:
		o.abort()
	case ctx.timedOut.Load() == nil: // otherwise a late PanicHandler still uses the context
		ctx.keepConn()
		ctx.Response.SetConnectionClose()
	}
}

// beginPanicAnswer empties the response of a handler that panicked, except for what
// functions of BeforeSend have set.
func (sc *serverConn) beginPanicAnswer(ctx *RequestCtx) {
	ctx.keepConn()
	if ctx.hookStage.Load() == hooksOpen {
		ctx.Response.Reset()
		sc.prepareResponse(ctx)
	} else {
		ctx.Response.dropContent()
	}
	ctx.SetStatusCode(StatusInternalServerError)
	ctx.Response.SetConnectionClose()
}

// callPanicHandler calls f, which calls PanicHandler or ErrorHandler to make the response
// to a panic. If f panics itself, the response is a plain 500. ok is false if the
// connection must be aborted, because f asked for that or has already sent a part of its
// response.
func (sc *serverConn) callPanicHandler(ctx *RequestCtx, f func()) (ok bool) {
	defer func() {
		if ok {
			return
		}
		r := recover()
		if r == nil || isAbort(r) {
			return // runtime.Goexit continues
		}
		trace := []byte(nil)
		if hp, wrapped := r.(*handlerPanic); wrapped {
			r, trace = hp.value, hp.stack
		} else {
			trace = stack()
		}
		sc.s.logPanic("in Server.PanicHandler or Server.ErrorHandler", r, trace)
		if ctx.timedOut.Load() != nil {
			ok = true // its response is made, and another goroutine uses the context
			return
		}
		if ctx.flush.begun {
			return
		}
		sc.beginPanicAnswer(ctx)
		ctx.errorBody(StatusInternalServerError, "")
		ok = true
	}()
	f()
	return true
}

func isAbort(r any) bool {
	err, ok := r.(error)
	return ok && errors.Is(err, ErrAbortHandler)
}

// logPanic logs and counts a panic with r.
func (s *Server) logPanic(where string, r any, trace []byte) { s.logHandlerPanic(where, nil, r, trace) }

// logHandlerPanic is logPanic for a handler of ctx, which no other goroutine changes, or nil. A
// Logger may write nothing, as that of a framework does. So Slog gets the panic besides it, or
// standard error if there is no Slog.
func (s *Server) logHandlerPanic(where string, ctx *RequestCtx, r any, trace []byte) {
	s.stats.panics.Add(1)
	r = s.lateUse(r, trace)
	if s.Slog != nil {
		var attrs []slog.Attr
		if ctx != nil && !s.SecureErrorLogMessage {
			attrs = ctx.logAttrs()
		}
		attrs = append(attrs, slog.String("error", fmt.Sprint(r)), slog.String("stack", string(trace)))
		s.logAttrs("panic "+strings.TrimSuffix(where, ","), attrs)
		if s.Logger == nil {
			return
		}
	}
	if ctx != nil {
		where += " for " + ctx.describe()
	}
	s.logger().Printf("gale: panic %s: %v\n%s", where, r, trace)
	if s.Logger != nil && s.Slog == nil && !isStandardError(s.Logger) {
		defaultLogger.Printf("gale: panic %s: %v\n%s", where, r, trace)
	}
}

// describe returns the text for the request in a log line. It has no details if
// SecureErrorLogMessage is set.
func (ctx *RequestCtx) describe() string {
	if ctx.server().SecureErrorLogMessage {
		return "a request"
	}
	return fmt.Sprintf("%s %q from %s", ctx.Method(), ctx.RequestURI(), ctx.RemoteAddr())
}
