package gale

import (
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
)

// Fail makes the response an error with a status from 400 to 599; any other status
// becomes 500. It replaces status and body. It keeps headers that were set before, such
// as cookies, CORS headers and cache headers. It removes only headers that describe the
// old body: Content-Type, Content-Encoding, Content-Length, Content-Range, ETag,
// Last-Modified, Trailer and the like (RFC 9110 sections 8 and 14.4). A body stream is
// closed, and Hijack is undone. The handler should return after the call.
//
// Server.ErrorHandler makes the body; it gets err in a *HandlerError. If it is not set,
// the body is text, or JSON as in RFC 9457 ("problem details") if the request's Accept
// header prefers application/problem+json or application/json to text/plain and
// text/html. For 400 to 499 the body has the text of err, so make sure that clients may
// read it. For 500 to 599 it has only the status, and err is logged. If err is nil, the
// body has the text of the status.
//
// If Flush has already sent the head, the response can't become an error anymore. Then
// err is logged, later calls of Flush fail, and the response is aborted when the handler
// returns, so that the client can tell that it is incomplete.
//
// Error, NotFound and NotModified drop all headers, as in fasthttp.
func (ctx *RequestCtx) Fail(status int, err error) {
	used(ctx.loan)
	if status < 400 || status > 599 {
		status = StatusInternalServerError
	}
	if ctx.flush.begun {
		ctx.cut = true
		ctx.logFailure(status, err)
		return
	}
	ctx.keepConn()
	ctx.Response.dropContent()
	ctx.SetStatusCode(status)
	if ctx.handleError(&HandlerError{Status: status, Err: err}) {
		if ctx.timedOut.Load() == nil { // or ErrorHandler, which is late, uses the context
			ctx.keepConn()
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

// HandlerError is the error that Server.ErrorHandler gets when a handler calls
// RequestCtx.Fail.
type HandlerError struct {
	// Status is the status of the response, from 400 to 599. It is set before
	// ErrorHandler is called, which can't change it.
	Status int
	// Err is the error given to Fail, or nil.
	Err error
}

// Error returns the text of Err, or that of the status.
func (e *HandlerError) Error() string { return errorText(e.Err, StatusMessage(e.Status)) }

// Unwrap returns Err.
func (e *HandlerError) Unwrap() error { return e.Err }

// PanicError is the error that Server.ErrorHandler gets when a handler panicked. The
// panic is logged already. The status of the response is 500; ErrorHandler can't change
// it.
type PanicError struct {
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of its goroutine as text.
	Stack []byte
}

// Error returns a constant text that clients may see.
func (e *PanicError) Error() string { return errorPrefix + "the handler panicked" }

// Unwrap returns Value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// handleError calls Server.ErrorHandler for err. It returns false if ErrorHandler is not
// set or is already running. ErrorHandler isn't called for a panic of its own.
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

// answerRefusal makes the response to a request that the server refuses because of err:
// that of ErrorHandler, or the default one. A refused request is not handed over: if
// ErrorHandler asks for that, and sets no status for an error, the default response is made.
// It doesn't look at the response after a timeout of ErrorHandler.
func (ctx *RequestCtx) answerRefusal(err error) {
	if !ctx.handleError(err) {
		ctx.defaultError(err)
		return
	}
	if ctx.timedOut.Load() != nil || ctx.handover.to == nil {
		return
	}
	ctx.keepConn()
	if ctx.Response.StatusCode() < 400 && !ctx.flush.begun {
		ctx.Response.dropContent()
		ctx.defaultError(err)
	}
}

// refuseUnheard makes the response to a request whose body could not be read because of
// err, if the handler treated the body as empty.
func (ctx *RequestCtx) refuseUnheard(err error) {
	ctx.keepConn()
	ctx.Request.ResetBody()
	ctx.Response.Reset()
	ctx.answerRefusal(err)
	ctx.Response.SetConnectionClose()
}

// unheard returns the error of a body that could not be read and that the handler treated
// as empty, or nil. After Detach it is nil, because another goroutine may be using the
// request.
func (ctx *RequestCtx) unheard() error {
	if ctx.isDetached() {
		return nil
	}
	err := ctx.Request.unheard()
	if errors.Is(err, door.ErrBodyClosed) {
		return nil
	}
	return err
}

// errorBody makes the body of an error response in the media type that the client
// prefers. detail replaces the status in text, and is added to it in JSON.
func (ctx *RequestCtx) errorBody(status int, detail string) {
	resp := &ctx.Response
	resp.Header.Set(HeaderXContentTypeOptions, "nosniff")
	addVary(&resp.Header, HeaderAccept) // caches may store many errors (RFC 9110 section 15.1)
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

// prefersJSON reports whether the client prefers JSON to text.
func (ctx *RequestCtx) prefersJSON() bool {
	accept := ctx.Request.Header.PeekAll(HeaderAccept)
	if len(accept) == 0 {
		return false
	}
	data := max(head.AcceptWeight(accept, "application/problem+json"), head.AcceptWeight(accept, "application/json"))
	return data > max(head.AcceptWeight(accept, "text/plain"), head.AcceptWeight(accept, "text/html"))
}

// logFailure logs err, which the client doesn't get.
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
