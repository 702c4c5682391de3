package gale

import (
	"errors"
	"fmt"
)

// Flush sends the part of the response that the handler has made so far. The first call
// sends the status line and the headers, which can't be changed anymore afterwards. Each
// call sends the body bytes that were written since the last one. The response is sent
// chunked, unless its Content-Length was set. Server-sent events need only this method,
// Write, and Done, which tells when the client leaves.
//
// Flush blocks until the operating system has taken the bytes. Server.WriteTimeout and
// Server.WriteStallTimeout limit that time. If the handler times out in the meantime (see
// TimeoutHandler), Flush returns ErrTimeout. After an error no more can be sent, and the
// handler should return.
//
// If what the handler has written goes beyond the Content-Length that was set, nothing of that part is
// sent: Flush returns an error, and the response is broken off. So is a response whose last part,
// after the handler, goes beyond it, or that ends before it.
//
// A client that waits for a 100 before it sends a streamed body gets it before the head, if the
// status is 2xx. After another status it isn't asked for the body: reading that fails, unless
// some of it has come.
//
// A 101 isn't sent by Flush, which returns an error and changes nothing: the 101 is sent when
// the connection is handed over, see Hijack.
func (ctx *RequestCtx) Flush() error {
	used(ctx.loan)
	if ctx.Response.StatusCode() == StatusSwitchingProtocols && !ctx.flush.begun {
		return errFlushSwitch
	}
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
		if !ctx.flush.begun {
			if ctx.Response.StatusCode() == StatusSwitchingProtocols { // of a function of BeforeSend
				return errFlushSwitch
			}
			ctx.flush.status = int32(ctx.Response.StatusCode())
		}
		err := x.Flush(ctx)
		if err == nil {
			ctx.flush.begun = true
		}
		return err
	})
}

// flushState is what Flush has sent.
type flushState struct {
	begun  bool  // the head was sent
	status int32 // that was sent
}

var errCut = errors.New("gale: the request has failed: the rest of the response is not sent")

var errFlushSwitch = errors.New("gale: a 101 can't be flushed: it is sent when the connection is handed over")

var errFlushStream = errors.New("gale: a response with a body stream can't be flushed: it is sent after the handler")

// EarlyHints sends the Link headers set so far to the client at once, in a 103 response
// (RFC 8297), so that the client can load what they name while the handler works.
// HTTP/1.0 clients get no 103. The final response carries the Link headers again.
// EarlyHints blocks until the 103 is written.
func (ctx *RequestCtx) EarlyHints() error {
	used(ctx.loan)
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

// SendInterim sends an informational response at once (RFC 9110 section 15.2): 102, 103
// and others, but not 101, which is a final one. Its headers are those of h, which may be
// nil, without those that belong to a body or the connection, and without Content-Type
// and Server. A 100 tells a client that waits for it to send the body; the server sends
// it anyway when the handler reads the body. HTTP/1.0 clients get no informational
// responses.
//
// It blocks until the response is written. It returns ErrNilConnection if ctx has no
// connection of a server, and another error if the final response has begun.
func (ctx *RequestCtx) SendInterim(statusCode int, h *ResponseHeader) error {
	used(ctx.loan)
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

// send calls write, which may block, with the exchange. During the call it holds sendMu
// but not mu, which part needs.
func (ctx *RequestCtx) send(write func(x exchange) error) error {
	used(ctx.loan)
	if ctx.hookStage.Load() == hooksRunning {
		return errBeforeSend
	}
	ctx.sendMu.Lock()
	defer ctx.sendMu.Unlock()
	ctx.mu.Lock()
	if !ctx.reaches() {
		defer ctx.mu.Unlock()
		return ctx.unreachable(ErrNilConnection, errAnswered)
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
