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

// requestContext is the context of an adapted request. The program may keep it: when the
// handler has returned, it has ended, no longer uses the RequestCtx, and its methods keep
// returning the same values. The client is watched from the first call of Done or Err.
type requestContext struct {
	mu    sync.Mutex
	ctx   *gale.RequestCtx // nil when the handler has returned
	std   *door.Unhurried  // made at the first use
	conn  net.Conn         // may be nil
	known *known           // set when the handler has returned; nil if nothing is known
}

// known has what the RequestCtx knew before the handler returned.
type known struct {
	values []userValue
	parent context.Context // of the connection; may be nil
}

type userValue struct{ key, value any }

func (c *requestContext) begin(ctx *gale.RequestCtx) {
	c.ctx = ctx
	c.conn = door.Of(ctx).Conn()
}

// standard returns the context of package context that ends with the request.
func (c *requestContext) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std == nil {
		if c.ctx != nil {
			c.std = door.Of(c.ctx).Unhurried()
		} else {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(gale.ErrRequestDone)
			c.std = &door.Unhurried{Context: ctx, Cancel: cancel}
		}
	}
	return c.std.Context
}

// Done and Err implement context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.standard().Done() }

func (c *requestContext) Err() error { return c.standard().Err() }

// Deadline returns the deadline of the connection's context.
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

// noServer is what handlers find under http.ServerContextKey, since they may expect a value of
// that type. httputil.ReverseProxy aborts a response only if there is one.
var noServer = new(http.Server)

// Value returns the user value of key or, if there is none, the value in the connection's
// context, or what a net/http server has there.
func (c *requestContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.value(key); v != nil || key != http.ServerContextKey || c.conn == nil {
		return v
	}
	return noServer
}

// value is Value under mu, without noServer.
func (c *requestContext) value(key any) any {
	if c.std != nil {
		// Package context looks for a context that it made itself, with a key that only
		// it has, so that it can add children without a goroutine.
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

// end is called when the handler has returned.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx.VisitUserValuesAll(func(key, value any) {
		k := c.know()
		k.values = append(k.values, userValue{key, value})
	})
	if parent := door.Of(c.ctx).Parent(); parent != nil {
		c.know().parent = parent
	}
	c.ctx = nil
	if c.std != nil {
		c.std.Cancel(gale.ErrRequestDone)
	}
}

// know returns c.known, and makes it if there is none.
func (c *requestContext) know() *known {
	if c.known == nil {
		c.known = new(known)
	}
	return c.known
}
