package ws

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// A handshake that isn't answered with 101 opens no WebSocket, whatever the handler says.
func TestAcceptNotSwitched(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		var o Options
		s := serveRequests(t, w, func(ctx *gale.RequestCtx) {
			if _ = Accept(ctx, echoConn, &o); ctx.QueryArgs().Has("no") {
				ctx.Hijack(nil)
				ctx.Error("no", gale.StatusForbidden)
			}
		})
		for request, status := range map[string]string{
			strings.Replace(handshakeRequest(), "/chat", "/chat?no", 1):                                 "403",
			strings.Replace(handshakeRequest(), "Connection: Upgrade", "Connection: close, Upgrade", 1): "400",
		} {
			c := s.connect(t)
			c.write([]byte(request))
			if c.readHead(); !strings.HasPrefix(c.head, "HTTP/1.1 "+status+" ") {
				t.Errorf("want status %s, got %s", status, c.head)
			}
			if n := o.Stats().Open; n != 0 {
				t.Errorf("status %s: %d WebSockets are open", status, n)
			}
		}
	})
}

// A server that stops tells a Conn to leave while the Conn begins.
func TestConnLeavesEarly(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		var running atomic.Int32
		s := serveRequests(t, w, func(ctx *gale.RequestCtx) {
			running.Add(1)
			<-ctx.Done()
			_ = Accept(ctx, func(c *Conn) { _, _, _ = c.Read(context.Background()) }, nil)
		})
		var conns []*rawConn
		for range 20 {
			c := s.connect(t)
			c.write([]byte(handshakeRequest()))
			conns = append(conns, c)
		}
		await.Until(t, "all handlers run", func() bool { return int(running.Load()) == len(conns) })
		done := make(chan error, 1)
		go func() { done <- s.ShutdownWithContext(testContext(t)) }()
		for _, c := range conns {
			c.readHead()
			c.wantCloseFrame(StatusGoingAway)
			c.write(closing(StatusGoingAway, ""))
			c.wantEnd()
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
