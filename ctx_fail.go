package gale

import (
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
)

// Fail answers with a status that is an error, 400 to 599; any other counts as 500. It
// replaces status and body and keeps the fields that were set before, such as cookies and
// those of CORS, except those that describe the old body: Content-Type,
// Content-Encoding, Content-Length, Content-Range, ETag, Last-Modified, Trailer and the
// like (RFC 9110 sections 8 and 14.4). Fields for caches stay. A body stream is closed,
// and Hijack is undone. A handler should return after it.
//
// The body is made by Server.ErrorHandler, which gets err in a *HandlerError. Without
// one it is text, or JSON as RFC 9457 has it ("problem details") if the Accept field of the
// request prefers application/problem+json or application/json to text/plain and
// text/html. For 400 to 499 it tells the text of err, so that must be fit for clients; for
// 500 to 599 it tells the status alone, and err is logged. A nil err stands for the
// status.
//
// Once Flush has sent the head, nothing of that can be said any more: then err is logged,
// later calls of Flush fail, and the response is broken off when the handler returns, so that
// the client doesn't take it for whole.
//
// Error, NotFound and NotModified drop the fields, as in fasthttp. Not in fasthttp.
func (ctx *RequestCtx) Fail(status int, err error) {
	if status < 400 || status > 599 {
		status = StatusInternalServerError
	}
	if ctx.flush.begun {
		ctx.cut = true
		ctx.logFailure(status, err)
		return
	}
	ctx.hijack, ctx.hijackNoResponse = nil, false
	ctx.Response.dropContent()
	ctx.SetStatusCode(status)
	if ctx.handleError(&HandlerError{Status: status, Err: err}) {
		if ctx.timedOut.Load() == nil { // or ErrorHandler, which is late, uses the context
			ctx.SetStatusCode(status)
		}
		return
	}
	detail := ""
	switch {
	case err == nil:
	case status < 500:
		detail = err.Error()
	default:
		ctx.logFailure(status, err)
	}
	ctx.errorBody(status, detail)
}

// HandlerError is the error that Server.ErrorHandler gets for RequestCtx.Fail. Not in
// fasthttp.
type HandlerError struct {
	// Status is the status of the response, from 400 to 599. It is set before the call
	// and stays.
	Status int
	// Err is what Fail was given, or nil.
	Err error
}

// Error returns the text of Err, or that of the status.
func (e *HandlerError) Error() string { return errorText(e.Err, StatusMessage(e.Status)) }

// Unwrap returns Err.
func (e *HandlerError) Unwrap() error { return e.Err }

// PanicError is the error that Server.ErrorHandler gets for a handler that panicked,
// which was logged. The status of the response is 500 and stays. Not in fasthttp.
type PanicError struct {
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of its goroutine as text.
	Stack []byte
}

// Error returns a constant text: what clients may be told.
func (e *PanicError) Error() string { return errorPrefix + "the handler panicked" }

// Unwrap returns Value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// handleError makes the response to err by Server.ErrorHandler. It returns false if there
// is none, or it runs already. If it panics, it isn't called for that.
func (ctx *RequestCtx) handleError(err error) bool {
	s := ctx.server()
	if s.ErrorHandler == nil || ctx.failing {
		return false
	}
	ctx.failing = true
	s.ErrorHandler(ctx, err)
	if ctx.timedOut.Load() == nil { // or it is late, and uses the context
		ctx.failing = false
	}
	return true
}

// refuseUnheard answers for a handler that took a body for empty which could not be
// read because of err.
func (ctx *RequestCtx) refuseUnheard(err error) {
	ctx.hijack, ctx.hijackNoResponse = nil, false
	ctx.Request.ResetBody()
	ctx.Response.Reset()
	if !ctx.handleError(err) {
		ctx.defaultError(err)
	}
	ctx.Response.SetConnectionClose()
}

// unheard returns why the body could not be read that the handler took for empty, or nil.
func (ctx *RequestCtx) unheard() error {
	err := ctx.Request.unheard()
	if errors.Is(err, door.ErrBodyClosed) {
		return nil
	}
	return err
}

// errorBody makes the body of an error response as the client likes it. detail is what
// text tells in place of the status, and JSON beside it.
func (ctx *RequestCtx) errorBody(status int, detail string) {
	resp := &ctx.Response
	resp.Header.Set(HeaderXContentTypeOptions, "nosniff")
	addVary(&resp.Header, HeaderAccept) // caches may keep many errors (RFC 9110 section 15.1)
	title := StatusMessage(status)
	if ctx.prefersJSON() {
		b, _ := json.Marshal(problem{"about:blank", title, status, detail}) // strings and a number
		resp.Header.SetContentType("application/problem+json")
		resp.setBody(b)
		return
	}
	if detail != "" {
		title = detail
	}
	resp.Header.SetContentType(plainText)
	resp.SetBodyString(title)
}

// problem is a problem details object (RFC 9457 section 3.1).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// prefersJSON reports whether the client likes JSON better than text.
func (ctx *RequestCtx) prefersJSON() bool {
	accept := ctx.Request.Header.PeekAll(HeaderAccept)
	if len(accept) == 0 {
		return false
	}
	data := max(head.AcceptWeight(accept, "application/problem+json"), head.AcceptWeight(accept, "application/json"))
	return data > max(head.AcceptWeight(accept, "text/plain"), head.AcceptWeight(accept, "text/html"))
}

// logFailure logs err, which the client isn't told.
func (ctx *RequestCtx) logFailure(status int, err error) {
	if err == nil {
		return
	}
	s := ctx.server()
	if ctx.logger == nil && s.slogs() {
		attrs := []slog.Attr{slog.Int("status", status), slog.String("error", err.Error())}
		if !s.SecureErrorLogMessage {
			attrs = append(attrs, ctx.logAttrs()...)
		}
		s.logAttrs("request failed", attrs)
		return
	}
	out := ctx.logger
	if out == nil {
		out = s.logger()
	}
	out.Printf("gale: %d for %s: %v", status, ctx.describe(), err)
}
