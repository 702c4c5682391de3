package gale

import (
	"errors"
	"fmt"
)

// Flush sends what the response holds by now: at the first call the status line
// and the header, which can't be changed any more then, and each time the body
// written since. The response is sent chunked, unless its Content-Length was
// set. So a handler can write, flush and see the client leave (see Done): that
// is all that server-sent events take.
//
// It blocks until the bytes are handed to the system, within the bounds of
// Server.WriteTimeout and Server.WriteStallTimeout, and no longer than a time-out
// that answers for the handler, see TimeoutHandler: ErrTimeout then. After an
// error the client is gone and the handler should return. Not in fasthttp.
func (ctx *RequestCtx) Flush() error {
	if err := ctx.Response.broken(); err != nil {
		return err
	}
	if ctx.cut {
		return errCut
	}
	if !ctx.Response.hasStream() {
		if err := ctx.beforeFlush(); err != nil {
			return err
		}
	}
	return ctx.send(func(x exchange) error {
		if ctx.Response.hasStream() {
			return errFlushStream
		}
		err := x.Flush(ctx)
		if err == nil {
			ctx.flush.begun = true
		}
		return err
	})
}

var errCut = errors.New("gale: the request has failed: the rest of the response is not sent")

var errFlushStream = errors.New("gale: a response with a body stream can't be flushed: it is sent after the handler")

// EarlyHints sends the Link fields set so far to the client at once, as a 103
// response (RFC 8297), so that it can load what they name while the handler
// works. HTTP/1.0 clients get none. The final response carries the fields
// again. It blocks until the hints are written.
func (ctx *RequestCtx) EarlyHints() error {
	if _, ok := ctx.bringer().(noExchange); ok {
		return nil // no client misses them
	}
	return ctx.send(func(x exchange) error {
		links := ctx.Response.Header.PeekAll(HeaderLink)
		if len(links) == 0 || ctx.flush.begun {
			return nil
		}
		var h ResponseHeader
		for _, l := range links {
			h.AddBytesV(HeaderLink, l)
		}
		return x.SendInterim(ctx, StatusEarlyHints, &h)
	})
}

// SendInterim sends an informational response at once (RFC 9110 section 15.2):
// 102, 103 and others, but not 101, which is a final one. Its fields are those
// of h, which may be nil, except those that belong to a body or the connection,
// and Content-Type and Server. 100 tells a client that waits for it to send the
// body; otherwise that happens when the handler reads it. HTTP/1.0 clients get none.
//
// It blocks until the response is written. It returns ErrNilConnection where
// there is no connection of a server, and an error when the final response has
// begun. Not in fasthttp.
func (ctx *RequestCtx) SendInterim(statusCode int, h *ResponseHeader) error {
	if statusCode < 100 || statusCode > 199 || statusCode == StatusSwitchingProtocols {
		return fmt.Errorf("gale: %d is the status code of a final response: set it with SetStatusCode", statusCode)
	}
	return ctx.send(func(x exchange) error {
		if ctx.flush.begun {
			return fmt.Errorf("gale: the response has begun: a %d can't be sent any more", statusCode)
		}
		return x.SendInterim(ctx, statusCode, h)
	})
}

// send lets write, which may block, use the exchange, and holds no lock meanwhile
// that part waits for.
func (ctx *RequestCtx) send(write func(x exchange) error) error {
	if ctx.hookStage.Load() == hooksRunning {
		return errBeforeSend
	}
	ctx.sendMu.Lock()
	defer ctx.sendMu.Unlock()
	ctx.mu.Lock()
	if !ctx.reaches() {
		ctx.mu.Unlock()
		return ErrNilConnection
	}
	x := ctx.x
	ctx.sends = true
	ctx.mu.Unlock()
	defer func() {
		ctx.mu.Lock()
		ctx.sends = false
		ctx.mu.Unlock()
	}()
	err := write(x)
	if err != nil && err != ErrNilConnection && ctx.timedOut.Load() != nil {
		return ErrTimeout
	}
	return err
}
