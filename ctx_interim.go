package gale

import (
	"bytes"
	"fmt"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// EarlyHints sends the Link fields set so far to the client at once, as a 103
// response (RFC 8297), so that it can load what they name while the handler
// works. HTTP/1.0 clients get none. The final response carries the fields
// again. It blocks until the hints are written.
func (ctx *RequestCtx) EarlyHints() error {
	if ctx.ss == nil {
		return ctx.outerHints()
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	w := ctx.work
	if w == nil || ctx.timedOut.Load() != nil {
		return ErrNilConnection
	}
	links := ctx.Response.Header.PeekAll(HeaderLink)
	if len(links) == 0 || ctx.flush.begun || ctx.ss.req.minor == 0 {
		return nil
	}
	w.Out = append(w.Out, "HTTP/1.1 103 Early Hints\r\n"...)
	for _, l := range links {
		if bytes.ContainsAny(l, "\r\n\x00") {
			continue // can't be: setters refuse them
		}
		w.Out = append(append(append(w.Out, "Link: "...), l...), "\r\n"...)
	}
	return ctx.ss.sendInterim(w)
}

// outerHints is EarlyHints where there is no session.
func (ctx *RequestCtx) outerHints() error {
	o := ctx.outer()
	links := ctx.Response.Header.PeekAll(HeaderLink)
	if o == nil || len(links) == 0 || ctx.timedOut.Load() != nil {
		return nil
	}
	var h ResponseHeader
	for _, l := range links {
		h.AddBytesV(HeaderLink, l)
	}
	return o.SendInterim(StatusEarlyHints, &h)
}

// SendInterim sends an informational response at once (RFC 9110 section 15.2):
// 102, 103 and others, but not 101, which is a final one. Its fields are those
// of h, which may be nil, but for those that belong to a body or the connection,
// and Content-Type and Server. 100 tells a client that waits for it to send the
// body; else that happens when the handler reads it. HTTP/1.0 clients get none.
//
// It blocks until the response is written. It returns ErrNilConnection where
// there is no connection of a server, and an error when the final response has
// begun. Not in fasthttp.
func (ctx *RequestCtx) SendInterim(statusCode int, h *ResponseHeader) error {
	if statusCode < 100 || statusCode > 199 || statusCode == StatusSwitchingProtocols {
		return fmt.Errorf("gale: %d is the status code of a final response: set it with SetStatusCode", statusCode)
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if o := ctx.outer(); o != nil && ctx.timedOut.Load() == nil {
		return o.SendInterim(statusCode, h)
	}
	ss, w := ctx.ss, ctx.work
	if ss == nil || w == nil || ctx.timedOut.Load() != nil {
		return ErrNilConnection
	}
	if ctx.flush.begun {
		return fmt.Errorf("gale: the response has begun: a %d can't be sent any more", statusCode)
	}
	if ss.req.minor == 0 {
		return nil
	}
	if statusCode == StatusContinue {
		ctx.stream.excuse()
	}
	w.Out = h1.AppendStatusLine(w.Out, statusCode, nil)
	if h != nil {
		const skip = responseFramed | 1<<msg.Connection | 1<<msg.Trailer
		w.Out = appendFields(w.Out, &h.s.Fields, skip, h.asIs)
	}
	return ss.sendInterim(w)
}

// sendInterim ends a head in w and sends it.
func (ss *session) sendInterim(w *engine.Work) error {
	ss.boundWrites()
	w.Out = append(w.Out, "\r\n"...)
	return ss.c.Flush(w)
}
