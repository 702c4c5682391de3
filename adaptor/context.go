package adaptor

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

// requestContext is the context of an adapted request. It may be kept: once the
// handler has returned it is cancelled and doesn't look at the RequestCtx any
// more. The client is watched from when somebody first asks for Done or Err.
type requestContext struct {
	mu     sync.Mutex
	ctx    *gale.RequestCtx // nil when the handler has returned
	std    context.Context  // made at the first need
	cancel context.CancelFunc
	values []userValue // of ctx, when that is over
}

type userValue struct{ key, value any }

// standard returns the context that tells about cancellation.
func (c *requestContext) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		return c.std
	}
	if c.ctx == nil {
		c.std, c.cancel = context.WithCancel(context.Background())
		c.cancel()
		return c.std
	}
	c.std, c.cancel = context.WithCancel(c.ctx.Context())
	return c.std
}

// Done, Err and Deadline are those of context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.standard().Done() }

func (c *requestContext) Err() error { return c.standard().Err() }

func (c *requestContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value returns the user value of key, else what the context of the connection
// knows.
func (c *requestContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		// Package context looks for itself with a key of its own, to add
		// children without a goroutine.
		if v := c.std.Value(key); v != nil {
			return v
		}
	}
	if c.ctx == nil {
		for _, v := range c.values {
			if v.key == key {
				return v.value
			}
		}
		return nil
	}
	if key == http.LocalAddrContextKey {
		return c.ctx.LocalAddr()
	}
	return c.ctx.Value(key)
}

// end is for when the handler has returned.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx.VisitUserValuesAll(func(key, value any) {
		c.values = append(c.values, userValue{key, value})
	})
	c.ctx = nil
	if c.cancel != nil {
		c.cancel()
	}
}
