package gale

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"strconv"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// statusError is an error for a refused request, with its own status.
type statusError struct {
	status int
	msg    string
}

func (e *statusError) Error() string {
	return "gale: request refused: " + strconv.Itoa(e.status) + " " + e.msg
}

// refusal returns the error for a request that a hook refuses.
func (r *requestLimits) refusal() error {
	status := int(r.refuse)
	if status == StatusRequestEntityTooLarge {
		return ErrBodyTooLarge
	}
	return &statusError{status, StatusMessage(status)}
}

// errExpectation is for an expectation that can't be met.
var errExpectation = &statusError{StatusExpectationFailed, "expectation failed"}

// RequestError is the error of a request whose head a server could not read.
// [Server.ErrorHandler] finds it with errors.As. The request in the handler's context is
// then empty, so RequestError has everything that can be logged.
type RequestError struct {
	// Err is why the head could not be read.
	Err error
	// RemoteAddr is the address of the client.
	RemoteAddr net.Addr
	// Line is the beginning of the request line, at most 64 bytes, quoted as by
	// strconv.QuoteToASCII, so that it has no control characters. It is empty if no byte
	// of the line has arrived, or if Server.SecureErrorLogMessage is set.
	Line string
}

// Error returns the text of Err. It contains nothing that the client sent.
func (e *RequestError) Error() string {
	return errorText(e.Err, "gale: the request head could not be read")
}

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// Timeout reports whether the head took too long.
func (e *RequestError) Timeout() bool { return e.Err != nil && engine.IsTimeout(e.Err) }

// headError returns err, the reason for refusing the head in w, as a *RequestError with
// what a log needs.
func (ss *h1Session) headError(w *engine.Work, err error) error {
	e := &RequestError{Err: err, RemoteAddr: ss.nc.RemoteAddr()}
	if !ss.s.SecureErrorLogMessage {
		const most = 64
		line := bytes.TrimLeft(w.Unread(), "\r\n")
		line = line[:min(len(line), most)]
		if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
			line = line[:end]
		}
		if len(line) > 0 {
			e.Line = strconv.QuoteToASCII(string(line))
		}
	}
	return e
}

// refuseHead is refuse for a request without a whole head.
func (ss *h1Session) refuseHead(w *engine.Work, err error, next *engine.Next) (ok bool) {
	if he, ok := err.(*h1.Error); ok && he.Status == StatusRequestHeaderFieldsTooLarge {
		err = ss.s.headLimit(err == h1.ErrTooManyFields, false)
		return ss.refuse(w, &ErrSmallBuffer{err: ss.headError(w, err)}, next)
	}
	return ss.refuse(w, ss.headError(w, err), next)
}

// headLimitError is an [ErrSmallReadBuffer] that says which limit of the server was met.
type headLimitError struct{ text string }

func (e *headLimitError) Error() string { return headLimitPrefix + e.text }

// Unwrap returns ErrSmallReadBuffer.
func (e *headLimitError) Unwrap() error { return ErrSmallReadBuffer }

// headLimit returns the error for a head, or a trailer section, with more fields than the
// server allows, or else more bytes.
func (s *Server) headLimit(fields, http2 bool) error {
	what, setting, most, ofHTTP2 := "bytes", "MaxHeaderBytes", s.maxHeadBytes(), s.HTTP2.MaxHeaderBytes
	if fields {
		what, setting, most, ofHTTP2 = "fields", "MaxHeaderFields", cmp.Or(max(s.MaxHeaderFields, 0), h1.DefaultFields), s.HTTP2.MaxHeaderFields
	}
	switch {
	case http2 && ofHTTP2 > 0:
		most, setting = ofHTTP2, "HTTP2."+setting
	case !fields && s.MaxHeaderBytes <= 0 && s.ReadBufferSize > 0:
		setting = "ReadBufferSize"
	}
	return &headLimitError{fmt.Sprintf("more than %d %s of header: Server.%s is the limit", most, what, setting)}
}

// refuse answers a request that could not be read or was refused, and closes the
// connection, because the bytes after it can't be trusted. It returns false.
func (ss *h1Session) refuse(w *engine.Work, err error, next *engine.Next) (ok bool) {
	s := ss.s
	ctx := ss.takeContext(w)
	if ctx.x == nil {
		if lender := ss.l.fixed.lender; lender != nil && lender.Sample() {
			ctx = ss.lend(lender, w)
		}
		ss.prepare(ctx)
	}
	ss.m.work, ctx.reach = w, running
	ss.lost = true // whatever the program flushes
	if ss.stage == inHead {
		ss.cfg = &ss.l.fixed.each // not the limits of the request before
		if bytes.HasPrefix(bytes.TrimLeft(w.Unread(), "\r\n"), []byte("HEAD ")) {
			ss.req.method, ss.req.plain = msg.MethodHead, false // RFC 9110 section 9.3.2: no content
		}
	}
	if he := (*h1.Error)(nil); errors.As(err, &he) && he.Status == StatusRequestHeaderFieldsTooLarge {
		err = &ErrSmallBuffer{err: s.headLimit(errors.Is(err, h1.ErrTooManyFields), false)} // of a trailer section
	}
	ss.fault(nil) // or a response that ErrorHandler flushes would look broken
	returned := false
	if _, decided := err.(*statusError); !decided {
		defer func() {
			if returned && ss.cause() == nil {
				ss.fault(err)
				return
			}
			ss.s.logError(ss.nc, "serving", err) // the end of the connection has another reason
		}()
	}
	ctx.wrestLate(ss.handleRefused(ctx, err, &ss.outcome))
	if ss.outcome != tookConn {
		ss.sendRefusal(ctx, w, next)
	}
	returned = true
	return false
}

// sendRefusal sends the response to a refused request and closes the connection. It
// returns false.
func (ss *h1Session) sendRefusal(ctx *RequestCtx, w *engine.Work, next *engine.Next) (ok bool) {
	resp, _ := ss.choose(ctx, ss.hijackOf(), &ss.outcome)
	if resp == nil {
		ss.abort(next)
		return false
	}
	if ctx.done.Load() != nil {
		ctx.endDone()
	}
	resp.SetConnectionClose()
	ss.write(ctx, w, resp, true, next)
	next.Linger = true
	return false
}

// defaultError makes a response with the status that fits err. The texts are constant and
// contain nothing from the request.
func (ctx *RequestCtx) defaultError(err error) {
	status, text := errorStatus(err)
	ctx.SetStatusCode(status)
	if text == "" {
		return // ExpectHandler has chosen a status, and no body
	}
	ctx.errorBody(status, text)
	switch status {
	case StatusMethodNotAllowed:
		ctx.Response.Header.Set(HeaderAllow, "GET, HEAD") // RFC 9110 section 15.5.6
	case StatusServiceUnavailable:
		ctx.Response.Header.Set(HeaderRetryAfter, "1")
	}
}

// ErrorStatus returns the status code for an error that Server.ErrorHandler got. It is the
// status that the server sends if ErrorHandler is nil:
//
//   - 413 for ErrBodyTooLarge
//   - 431 for *ErrSmallBuffer
//   - 408 for a timeout
//   - the Status of a *HandlerError or a *BindError
//   - 500 for a *PanicError and for nil
//   - another status for errors that have one, such as 414, 417, 501 and 505
//   - 400 for everything else
func ErrorStatus(err error) int {
	if err == nil {
		return StatusInternalServerError
	}
	status, _ := errorStatus(err)
	return status
}

// errorStatus returns the answer to a request that failed with err.
func errorStatus(err error) (status int, text string) {
	var (
		failed  *HandlerError
		panics  *PanicError
		bound   *BindError
		small   *ErrSmallBuffer
		refusal *statusError
		proto   *h1.Error
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &panics):
		return StatusInternalServerError, StatusMessage(StatusInternalServerError)
	case errors.As(err, &failed) && failed.Status == 0: // not by Fail
		return StatusInternalServerError, StatusMessage(StatusInternalServerError)
	case errors.As(err, &failed):
		return failed.Status, StatusMessage(failed.Status)
	case errors.As(err, &bound) && bound.Status != 0:
		return bound.Status, StatusMessage(bound.Status)
	case errors.As(err, &small):
		return StatusRequestHeaderFieldsTooLarge, "Too big request header"
	case errors.Is(err, ErrBodyTooLarge), errors.Is(err, multipart.ErrMessageTooLarge):
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
