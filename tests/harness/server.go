package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// AppendHook returns a function for BeforeSend that adds its name to the response.
func AppendHook(name string) func(*gale.RequestCtx) {
	return func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Order", string(ctx.Response.Header.Peek("X-Order"))+name)
	}
}

// Server is a server of Gale.
type Server struct {
	*peers.Server
	S *gale.Server
}

// Start serves s, or a server with the handler h if s is nil.
func Start(t *testing.T, s *gale.Server, h gale.RequestHandler) *Server {
	t.Helper()
	if s == nil {
		s = &gale.Server{}
	}
	if s.Handler == nil {
		s.Handler = h
	}
	return &Server{peers.Serve(t, s, peers.LogTo(&s.Logger), nil, nil), s}
}

// Echo answers with the method, the path and the body of the request.
func Echo(ctx *gale.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %s", ctx.Method(), ctx.Path(), ctx.PostBody())
}

// Serving waits until s serves n listeners and returns their addresses.
func Serving(t *testing.T, s *gale.Server, n int) (addrs []string) {
	t.Helper()
	await.Until(t, "the server to listen", func() bool { return len(s.Stats().Listeners) >= n })
	for _, l := range s.Stats().Listeners {
		addrs = append(addrs, l.Address)
	}
	return addrs
}

// InBubble serves s on connections in memory, in a bubble, and calls f with one of them.
func InBubble(t *testing.T, s *gale.Server, f func(t *testing.T, c *peers.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ln := galeutil.NewInmemoryListener()
		if s.Logger == nil {
			s.Logger = &peers.Log{}
		}
		done := make(chan struct{})
		go func() { _ = s.Serve(ln); close(done) }()
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		tc := peers.NewConn(t, c)
		_ = c.SetDeadline(time.Now().Add(24 * time.Hour))
		defer func() {
			c.Close()
			ln.Close()
			<-done
			_ = s.Close()
		}()
		f(t, tc)
	})
}
