package reverse

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// Error says why a request got no response from an upstream.
type Error struct {
	// StatusCode is the status code for the answer: 503 if no upstream is
	// available, 504 if an upstream took too long, 502 if it broke off or sent an
	// invalid response, 413 or another 4xx if the request is at fault, 500 if a
	// handler has already read of the body's stream, 501 for an upgrade
	// that can't be passed on.
	StatusCode int
	// Upstream is the upstream that the request was last sent to, as in
	// Proxy.Upstreams, or "".
	Upstream string
	// Err is the cause. It is [gale.ErrClientGone] if the client has broken the connection,
	// or if Server.Close has closed it; then the answer usually doesn't reach it.
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
	// ErrIdle says that for Proxy.BodyIdleTimeout an upstream sent no bytes of a
	// body.
	ErrIdle = errors.New("reverse: the upstream was idle for too long")
	// ErrUpgrade says that an upstream switched to a protocol that the client had not
	// asked for.
	ErrUpgrade = errors.New("reverse: 101 for an upgrade that was not asked for")
	// ErrNoUpgrade says that a request asks for an upgrade, for example to WebSocket,
	// while Proxy.HTTP2 is HTTP2Only: HTTP/2 has no upgrades.
	ErrNoUpgrade = errors.New("reverse: an upgrade needs HTTP/1.1 to the upstream, but Proxy.HTTP2 is HTTP2Only")
	// ErrClientShare says that a client has as many requests or upgraded connections at an
	// upstream as Proxy.MaxConnsPerClient or Proxy.MaxUpgradesPerClient allow, and that
	// none of them has ended within Proxy.MaxConnWait.
	ErrClientShare = errors.New("reverse: the client has its share of the upstream's connections")
	// ErrPath says that an upstream could find the path below another prefix than
	// [gale.RequestCtx.Path]; see Proxy.StrictPaths.
	ErrPath = errors.New(`reverse: the path has a segment . or .., a backslash, "#" or %00, or what StrictPaths refuses`)
	// ErrPrefix says that a path doesn't begin with Proxy.StripPrefix.
	ErrPrefix = errors.New("reverse: the path doesn't begin with StripPrefix")
)

// errSlowClient says that a response was broken off because its client takes too little.
var errSlowClient = errors.New("reverse: the client takes the response too slowly")

// WriteError answers with the status code of err and the text of that code, which
// says nothing about the cause. If there was no connection for the request, or no place in the
// client's share of them, the answer has Retry-After. Headers that were set before stay. If err isn't an
// [*Error], the code is 502.
func WriteError(ctx *gale.RequestCtx, err error) {
	status := gale.StatusBadGateway
	if e := (*Error)(nil); errors.As(err, &e) {
		status = e.StatusCode
	}
	ctx.SetStatusCode(status)
	if status == gale.StatusMethodNotAllowed {
		ctx.Response.Header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	}
	if isCrowded(err) {
		ctx.Response.Header.Set(gale.HeaderRetryAfter, "1")
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
	if ctx.Response.StatusCode() >= gale.StatusInternalServerError && !errors.Is(err, gale.ErrClientGone) {
		ctx.Logger().Printf("%v", err)
	}
}

// bodyError is an error of the client's body.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// dialError is an error of a dial: nothing was sent.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// unsent reports whether err certainly occurred before a byte was sent.
func unsent(err error) bool {
	return errors.As(err, new(dialError)) || isCrowded(err)
}

// isCrowded reports whether there was no connection, or no place in the client's share, for a
// request.
func isCrowded(err error) bool {
	return errors.Is(err, gale.ErrNoFreeConns) || errors.Is(err, ErrClientShare)
}

// blames reports whether err is the upstream's fault.
func blames(err error) bool {
	for _, other := range []error{gale.ErrClientGone, gale.ErrRequestDone, gale.ErrNoFreeConns, ErrClientShare, errSlowClient, ErrNoUpgrade, ErrPath, ErrPrefix, door.ErrBodyTaken} {
		if errors.Is(err, other) {
			return false
		}
	}
	return !errors.As(err, new(bodyError))
}

// statusOf returns the status code for the answer if err is the reason why there is
// no response.
func statusOf(err error) int {
	var timeout net.Error
	switch {
	case errors.Is(err, door.ErrBodyTaken):
		return gale.StatusInternalServerError
	case errors.As(err, new(bodyError)), errors.Is(err, gale.ErrBodyTooLarge):
		return gale.ErrorStatus(err) // as for a handler that reads the body
	case errors.Is(err, ErrNoUpgrade):
		return gale.StatusNotImplemented
	case errors.Is(err, ErrPrefix):
		return gale.StatusNotFound
	case errors.Is(err, gale.ErrClientGone), errors.Is(err, ErrPath):
		return gale.StatusBadRequest
	case isCrowded(err), errors.Is(err, ErrNoUpstream):
		return gale.StatusServiceUnavailable
	case errors.Is(err, gale.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrIdle),
		errors.As(err, &timeout) && timeout.Timeout():
		return gale.StatusGatewayTimeout
	}
	return gale.StatusBadGateway
}
