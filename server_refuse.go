package gale

import (
	"errors"
	"io"
	"strconv"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
)

// statusError is a refusal with a status of its own.
type statusError struct {
	status int
	msg    string
}

func (e *statusError) Error() string {
	return "gale: request refused: " + strconv.Itoa(e.status) + " " + e.msg
}

// errExpectation is for an expectation that can't be met.
var errExpectation = &statusError{StatusExpectationFailed, "expectation failed"}

// refuse answers a request that could not be read or was not wanted, and
// closes the connection: what follows on it can't be trusted. It returns false.
func (ss *session) refuse(w *engine.Work, err error, next *engine.Next) (ok bool) {
	s := ss.s
	ctx := ss.take(w)
	if ctx.ss == nil {
		ss.prepare(ctx, w)
	}
	ctx.work = w
	if ss.stage == inHead {
		ss.cfg = &ss.l.fixed.each // not what the request before had
	}
	if he := (*h1.Error)(nil); errors.As(err, &he) && he.Status == StatusRequestHeaderFieldsTooLarge {
		err = &ErrSmallBuffer{err: ErrSmallReadBuffer}
	}
	ss.err = err
	if _, ok := err.(*statusError); ok {
		ss.err = nil // no error, but a decision
	}
	ctx.Response.Reset()
	ss.prepareResponse(ctx)
	if s.ErrorHandler == nil {
		defaultErrorHandler(ctx, err)
	} else {
		ctx.Response.Header.defaultServer = "" // filled in behind it
		if !ss.guard(ctx, func() { s.ErrorHandler(ctx, err) }) {
			next.Op = engine.Abort
			return false
		}
		ctx.Response.Header.defaultServer = s.serverName()
	}
	if ctx.done.Load() != nil {
		ctx.endDone()
	}
	if len(ctx.Response.Header.Peek(HeaderContentType)) > 0 {
		ctx.Response.Header.Set(HeaderXContentTypeOptions, "nosniff")
	}
	ctx.Response.SetConnectionClose()
	ss.write(ctx, w, &ctx.Response, true, next)
	next.Linger = true
	ctx.Request.ResetBody()
	return false
}

// defaultErrorHandler answers with the status that fits err. The texts are
// constant: nothing of the request comes back.
func defaultErrorHandler(ctx *RequestCtx, err error) {
	status, text := errorStatus(err)
	ctx.Error(text, status)
	if status == StatusMethodNotAllowed {
		ctx.Response.Header.Set(HeaderAllow, "GET, HEAD") // RFC 9110 section 15.5.6
	}
}

// errorStatus returns the answer to a request that failed with err.
func errorStatus(err error) (status int, text string) {
	var (
		small   *ErrSmallBuffer
		refusal *statusError
		proto   *h1.Error
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &small):
		return StatusRequestHeaderFieldsTooLarge, "Too big request header"
	case errors.Is(err, ErrBodyTooLarge):
		return StatusRequestEntityTooLarge, "Too big request body"
	case errors.Is(err, ErrGetOnly):
		return StatusBadRequest, "Only GET and HEAD are allowed"
	case errors.As(err, &refusal):
		return refusal.status, refusal.msg
	case errors.As(err, &proto):
		if proto.Status != StatusBadRequest {
			return proto.Status, StatusMessage(proto.Status)
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
	case errors.As(err, &timeout) && timeout.Timeout():
		return StatusRequestTimeout, "Request timeout"
	}
	return StatusBadRequest, "Error when parsing request"
}
