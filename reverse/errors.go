package reverse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/galehttp/gale"
)

// Error is why a request got no response from an upstream.
type Error struct {
	// StatusCode is what to answer: 503 if no upstream can be asked now, 504 if one took
	// too long, 502 if one broke off or made no sense, 413 and other 4xx if the request
	// is to blame, 500 if a handler has read a part of the body's stream before.
	StatusCode int
	// Upstream is the one that was asked last, as in Proxy.Upstreams, or "".
	Upstream string
	// Err is the cause. It is [gale.ErrClientGone] if the client has left, or has ended its
	// side of the connection: then mostly no answer reaches it.
	Err error
}

func (e *Error) Error() string {
	if e.Upstream == "" {
		return fmt.Sprintf("reverse: %d: %v", e.StatusCode, e.Err)
	}
	return fmt.Sprintf("reverse: %d from %s: %v", e.StatusCode, e.Upstream, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Causes of errors.
var (
	// ErrNoUpstream says that no upstream is healthy, or that the Proxy was closed.
	ErrNoUpstream = errors.New("reverse: there is no upstream to ask")
	// ErrIdle says that an upstream sent nothing of a body for Proxy.BodyIdleTimeout.
	ErrIdle = errors.New("reverse: the upstream was idle for too long")
	// ErrUpgrade says that an upstream switched to a protocol that the client had not
	// asked for.
	ErrUpgrade = errors.New("reverse: 101 for an upgrade that was not asked for")
	// ErrPath says that a path with dot segments could leave the path of the upstream.
	ErrPath = errors.New("reverse: the path has dot segments")
)

// errBodyRead says that what is left of a body is not all of it.
var errBodyRead = errors.New("reverse: a handler before the proxy has read of the body's stream")

// errInterim is the answer to an upstream that never comes to the point.
var errInterim = errors.New("reverse: too many interim responses")

// WriteError answers with the status code of err and its text, which says nothing of the
// cause. Fields that were set before stay. Errors that aren't an [*Error] are a 502.
func WriteError(ctx *gale.RequestCtx, err error) {
	status := gale.StatusBadGateway
	if e := (*Error)(nil); errors.As(err, &e) {
		status = e.StatusCode
	}
	ctx.SetStatusCode(status)
	if status == gale.StatusMethodNotAllowed {
		ctx.Response.Header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	}
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(gale.StatusMessage(status))
}

func (p *Proxy) fail(ctx *gale.RequestCtx, err error) {
	if p.ErrorHandler != nil {
		p.ErrorHandler(ctx, err)
		return
	}
	WriteError(ctx, err)
}

// bodyError is an error of the client's body.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// dialError is an error of making a connection: nothing was sent.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// unsent reports whether err is certain to come from before a byte was sent.
func unsent(err error) bool {
	return errors.As(err, new(dialError)) || errors.Is(err, gale.ErrNoFreeConns)
}

// blames reports whether err is the upstream's fault.
func blames(err error) bool {
	for _, other := range []error{gale.ErrClientGone, gale.ErrRequestDone, gale.ErrNoFreeConns, ErrPath, errBodyRead} {
		if errors.Is(err, other) {
			return false
		}
	}
	return !errors.As(err, new(bodyError))
}

// statusOf returns what to answer if err is why there is no response.
func statusOf(err error) int {
	var timeout net.Error
	switch {
	case errors.Is(err, errBodyRead):
		return gale.StatusInternalServerError
	case errors.Is(err, gale.ErrBodyTooLarge):
		return gale.StatusRequestEntityTooLarge
	case errors.As(err, new(bodyError)) && errors.Is(err, gale.ErrTimeout):
		return gale.StatusRequestTimeout
	case errors.As(err, new(bodyError)), errors.Is(err, gale.ErrClientGone), errors.Is(err, ErrPath):
		return gale.StatusBadRequest
	case errors.Is(err, gale.ErrNoFreeConns), errors.Is(err, ErrNoUpstream):
		return gale.StatusServiceUnavailable
	case errors.Is(err, gale.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrIdle),
		errors.As(err, &timeout) && timeout.Timeout():
		return gale.StatusGatewayTimeout
	}
	return gale.StatusBadGateway
}

// broken turns the end of a connection into what it is within a message.
func broken(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
