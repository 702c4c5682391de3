package adaptor

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// requestContext is the context of an adapted request. It may be kept: once the
// handler has returned it has ended and doesn't look at the RequestCtx any more,
// and its answers stay. The client is watched from when Done or Err is first
// called.
type requestContext struct {
	mu    sync.Mutex
	ctx   *gale.RequestCtx // nil when the handler has returned
	std   *ending          // made at the first need
	conn  net.Conn         // may be nil
	known *known           // when the handler has returned; nil for nothing
}

// ending is a context of package context that tells about the end of a request.
type ending struct {
	context.Context
	cancel context.CancelCauseFunc
}

func newEnding(parent context.Context) *ending {
	ctx, cancel := context.WithCancelCause(parent)
	return &ending{ctx, cancel}
}

// known is what a RequestCtx knew.
type known struct {
	values []userValue
	parent context.Context // of the connection; may be nil
}

type userValue struct{ key, value any }

func (c *requestContext) begin(ctx *gale.RequestCtx) {
	c.ctx = ctx
	c.conn, _ = ctx.Value(door.ConnKey{}).(net.Conn)
}

// standard returns the context that tells about the end.
func (c *requestContext) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std == nil {
		if c.ctx != nil {
			c.std = newEnding(c.ctx.Context())
		} else {
			c.std = newEnding(context.Background())
			c.std.cancel(gale.ErrRequestDone)
		}
	}
	return c.std.Context
}

// Done and Err are those of context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.standard().Done() }

func (c *requestContext) Err() error { return c.standard().Err() }

// Deadline returns that of the connection's context.
func (c *requestContext) Deadline() (deadline time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx != nil:
		return c.ctx.Deadline()
	case c.known != nil && c.known.parent != nil:
		return c.known.parent.Deadline()
	}
	return time.Time{}, false
}

// Value returns the user value of key, else what the context of the connection
// knows.
func (c *requestContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		// Package context looks for a context of its own with a key of its own,
		// to add children without a goroutine.
		if v := c.std.Value(key); v == any(c.std.Context) {
			return v
		}
	}
	switch {
	case key == http.LocalAddrContextKey:
		return c.localAddr()
	case c.ctx != nil:
		return c.ctx.Value(key)
	case c.known == nil:
		return nil
	}
	if b, ok := key.([]byte); ok {
		key = string(b) // as user values have it
	}
	for _, v := range c.known.values {
		if v.key == key {
			return v.value
		}
	}
	if c.known.parent != nil {
		return c.known.parent.Value(key)
	}
	return nil
}

func (c *requestContext) localAddr() net.Addr {
	if c.ctx != nil {
		return c.ctx.LocalAddr()
	}
	if c.conn != nil {
		if a := c.conn.LocalAddr(); a != nil {
			return a
		}
	}
	return &net.TCPAddr{IP: net.IPv4zero}
}

// end is for when the handler has returned.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx.VisitUserValuesAll(func(key, value any) {
		k := c.know()
		k.values = append(k.values, userValue{key, value})
	})
	if parent, _ := c.ctx.Value(door.ParentKey{}).(context.Context); parent != nil {
		c.know().parent = parent
	}
	c.ctx = nil
	if c.std != nil {
		c.std.cancel(gale.ErrRequestDone)
	}
}

// know returns c.known, a new one if there is none.
func (c *requestContext) know() *known {
	if c.known == nil {
		c.known = new(known)
	}
	return c.known
}
