package h2

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Shutdown waits for functions of the program that run for streams of a connection, also when the
// client has closed that. The connection counts until the last of them has returned, and in the
// limits, too.
func TestShutdownWaitsForLostConn(t *testing.T) {
	for _, kind := range []struct {
		name string
		ask  func(ctx *gale.RequestCtx, begun func(), work func())
		open func(c *peers.H2Conn)
		late bool // work begins when the client has gone, else before begun
	}{
		{"HijackCounted", func(ctx *gale.RequestCtx, begun, work func()) {
			ctx.HijackCounted(func(net.Conn) { begun(); work() }, nil)
		}, func(c *peers.H2Conn) { c.Connect("/") }, false},
		{"Hijack", func(ctx *gale.RequestCtx, begun, work func()) {
			ctx.Hijack(func(net.Conn) { begun(); work() })
		}, func(c *peers.H2Conn) { c.Connect("/") }, false},
		{"Upgrade", func(ctx *gale.RequestCtx, begun, work func()) {
			ctx.Upgrade(&harness.UpgradeFuncs{
				OnOpened: func(*gale.UpgradedConn) { begun() },
				OnClosed: func(*gale.UpgradedConn, error) { work() },
			})
		}, func(c *peers.H2Conn) { c.Connect("/") }, true},
		{"streamed body", func(ctx *gale.RequestCtx, begun, work func()) {
			begun()
			work()
		}, func(c *peers.H2Conn) { c.Open("POST", "/", false) }, false},
		{"AfterSend", func(ctx *gale.RequestCtx, begun, work func()) {
			ctx.SetBodyString("the client gives no room for this")
			ctx.AfterSend(func(int64, error) { work() })
			begun()
		}, func(c *peers.H2Conn) { c.Await(c.Open("GET", "/", true), "200") }, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
				var running atomic.Int32
				begun, release := make(chan struct{}, 1), make(chan struct{})
				work := func() {
					running.Add(1)
					<-release
					running.Add(-1)
				}
				hs := way.Start(t, &gale.Server{
					StreamRequestBody: kind.name == "streamed body", MaxConnsPerIP: 2,
					HTTP2:   gale.HTTP2Config{WebSocket: true},
					Handler: func(ctx *gale.RequestCtx) { kind.ask(ctx, func() { begun <- struct{}{} }, work) },
				})
				c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
				kind.open(c)
				<-begun
				if !kind.late {
					await.Until(t, "the function", func() bool { return running.Load() == 1 })
				}
				below := c.Conn
				if tc, ok := below.(*tls.Conn); ok {
					below = tc.NetConn()
				}
				_ = below.(*net.TCPConn).SetLinger(0)
				below.Close() // a reset: after a FIN, streams may go on
				await.Until(t, "the function", func() bool { return running.Load() == 1 })
				ended := make(chan error, 1)
				go func() { ended <- hs.S.Shutdown() }()
				await.Until(t, "the end of the connection, or of the shutdown", func() bool {
					in := door.InsideOf(hs.S)
					return len(ended) > 0 || in.Shutdowns > 0 && in.Held == 1 && hs.S.GetOpenConnectionsCount() == 1
				})
				if len(ended) > 0 {
					t.Error("Shutdown has returned while a function of the program runs")
				}
				if n := door.InsideOf(hs.S).Addresses; n != 1 {
					t.Errorf("%d addresses count, want 1", n)
				}
				close(release)
				if err := <-ended; err != nil || running.Load() != 0 {
					t.Errorf("Shutdown returned %v while %d functions run", err, running.Load())
				}
				if in := door.InsideOf(hs.S); in.Held != 0 || in.Addresses != 0 {
					t.Errorf("still counted: %d connections, %d addresses", in.Held, in.Addresses)
				}
			})
		})
	}
}
