package gale

import (
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/pool"
)

// h1Message is a request of HTTP/1.1 with its response: the context, and what only an h1Session
// keeps for them. It is in the workspace of the engine between messages, so that an idle connection
// holds none. Goroutines that the context was left to keep all of it.
type h1Message struct {
	ctx    RequestCtx
	work   *engine.Work // where the session is fed from; valid while ctx.reach is running
	stream requestStream
	body   h1.Body // decodes the body of the request

	// Of a response that Flush has begun:
	keep bool // the connection may be used again
	out  bodyOut
}

// reset makes m ready for the next message, and keeps its buffers.
func (m *h1Message) reset() {
	if m.ctx.flush.begun {
		m.keep, m.out = false, bodyOut{}
	}
	m.ctx.reset()
	m.work = nil
	if m.stream.used {
		m.stream.reset()
	}
}

var h1Messages pool.Pool

func acquireH1Message() *h1Message {
	if m, ok := h1Messages.Get().(*h1Message); ok {
		return m
	}
	return newH1Message()
}

// newH1Message returns a message that isn't from the pool.
func newH1Message() *h1Message {
	m := new(h1Message)
	m.ctx.reset()
	return m
}
