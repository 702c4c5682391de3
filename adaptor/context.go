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
	mu     sync.Mutex
	ctx    *gale.RequestCtx // nil when the handler has returned
	std    context.Context  // tells about the end; made at the first need
	cancel context.CancelCauseFunc

	// What ctx knew, when the handler has returned.
	values []userValue
	parent context.Context // of the connection; may be nil
	conn   net.Conn        // likewise
}

type userValue struct{ key, value any }

// standard returns the context that tells about the end.
func (c *requestContext) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		return c.std
	}
	if c.ctx == nil {
		c.std, c.cancel = context.WithCancelCause(context.Background())
		c.cancel(gale.ErrRequestDone)
		return c.std
	}
	c.std, c.cancel = context.WithCancelCause(c.ctx.Context())
	return c.std
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
	case c.parent != nil:
		return c.parent.Deadline()
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
		if v := c.std.Value(key); v == any(c.std) {
			return v
		}
	}
	switch {
	case key == http.LocalAddrContextKey:
		return c.localAddr()
	case c.ctx != nil:
		return c.ctx.Value(key)
	}
	if b, ok := key.([]byte); ok {
		key = string(b) // as user values have it
	}
	for _, v := range c.values {
		if v.key == key {
			return v.value
		}
	}
	if c.parent != nil {
		return c.parent.Value(key)
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
		c.values = append(c.values, userValue{key, value})
	})
	c.parent, _ = c.ctx.Value(door.ParentKey{}).(context.Context)
	c.conn, _ = c.ctx.Value(door.ConnKey{}).(net.Conn)
	c.ctx = nil
	if c.cancel != nil {
		c.cancel(gale.ErrRequestDone)
	}
}
