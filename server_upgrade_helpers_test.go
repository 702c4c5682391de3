package gale

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
)

// upgradeFuncs is an UpgradeHandler made of functions, which may be nil.
type upgradeFuncs struct {
	opened   func(c *UpgradedConn)
	received func(c *UpgradedConn, in []byte) int
	stalled  func(c *UpgradedConn, why error)
	closed   func(c *UpgradedConn, err error)
}

func (f *upgradeFuncs) Opened(c *UpgradedConn) {
	if f.opened != nil {
		f.opened(c)
	}
}

func (f *upgradeFuncs) Received(c *UpgradedConn, in []byte) int {
	if f.received == nil {
		if c.Stopping() {
			c.Close()
		}
		return len(in)
	}
	return f.received(c, in)
}

func (f *upgradeFuncs) Stalled(c *UpgradedConn, why error) {
	if f.stalled == nil {
		c.Close()
		return
	}
	f.stalled(c, why)
}

func (f *upgradeFuncs) Closed(c *UpgradedConn, err error) {
	if f.closed != nil {
		f.closed(c, err)
	}
}

// upgradeWay is one of the ways in which a server serves an UpgradeHandler.
type upgradeWay struct {
	name   string
	engine Engine
	isTLS  bool
	pump   bool // as on exchanges that know only Hijack
	h2     bool // on streams of HTTP/2
}

var upgradeWays = []upgradeWay{
	{"block", EngineBlock, false, false, false},
	{"event", EngineEvent, false, false, false},
	{"block TLS", EngineBlock, true, false, false},
	{"event TLS", EngineEvent, true, false, false},
	{"pump", EngineEvent, false, true, false},
	{"pump TLS", EngineBlock, true, true, false},
	{"HTTP2", EngineEvent, false, false, true},
	{"HTTP2 TLS", EngineBlock, true, false, true},
}

// onUpgradeWays runs f for each way.
func onUpgradeWays(t *testing.T, f func(t *testing.T, way upgradeWay)) {
	for _, way := range upgradeWays {
		if !slices.Contains(testEngines, way.engine) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			f(t, way)
		})
	}
}

// upgradeServer is a server that upgrades all connections to a handler.
type upgradeServer struct {
	*testServer
	way    upgradeWay
	closed chan error   // what Closed got
	opened atomic.Int32 // calls of Opened without Closed
}

// serve starts a server. h is called for each connection.
func (way upgradeWay) serve(t *testing.T, s *Server, h func() *upgradeFuncs) *upgradeServer {
	t.Helper()
	us := &upgradeServer{way: way, closed: make(chan error, 100)}
	s.Engine, s.Logger = way.engine, &testLog{}
	if way.h2 {
		s.HTTP2 = HTTP2Config{H2C: true, WebSocket: true}
	}
	s.Handler = func(ctx *RequestCtx) {
		f := *h()
		opened, closed, over := f.opened, f.closed, false
		f.opened = func(c *UpgradedConn) {
			us.opened.Add(1)
			if opened != nil {
				opened(c)
			}
		}
		f.closed = func(c *UpgradedConn, err error) {
			if over {
				t.Error("Closed was called twice")
			}
			over = true
			us.opened.Add(-1)
			us.closed <- err
			if closed != nil {
				closed(c, err)
			}
		}
		if way.h2 {
			ctx.Upgrade(&f)
			return
		}
		ctx.SetStatusCode(StatusSwitchingProtocols)
		ctx.Response.Header.Set("Upgrade", "test")
		ctx.Response.Header.Set("Connection", "Upgrade")
		if way.pump {
			ctx.Hijack(upgradeByPump(ctx, &f))
			ctx.counted = true
			return
		}
		ctx.Upgrade(&f)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	us.testServer = &testServer{t: t, s: s, addr: ln.Addr().String(), log: s.Logger.(*testLog)}
	served := make(chan error, 1)
	if way.isTLS {
		certPEM, keyPEM, err := GenerateTestCertificate("localhost")
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
	} else {
		go func() { served <- s.Serve(ln) }()
	}
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		await(t, "the end of all connections", func() bool {
			return s.GetOpenConnectionsCount() == 0 && s.Stats().UpgradedConnections == 0
		})
		if n := us.opened.Load(); n != 0 {
			t.Errorf("Closed was not called for %d connections", n)
		}
	})
	return us
}

// connect makes a connection, with a request and more after it, and reads the response.
func (us *upgradeServer) connect(more string) *testConn {
	us.t.Helper()
	if us.way.h2 {
		client := &HostClient{Addr: us.addr, IsTLS: us.way.isTLS, HTTP2: HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		nc, err := client.OpenStream(context.Background(), connectRequest("/"), nil)
		if err != nil {
			us.t.Fatal(err)
		}
		us.t.Cleanup(client.CloseIdleConnections)
		c := newTestConn(us.t, nc)
		_, _ = io.WriteString(c, more) // the stream may have been reset by now
		return c
	}
	c := us.dialTo()
	c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n" + more)
	if a := c.read("GET"); a.StatusCode != 101 || a.Header.Get("Upgrade") != "test" {
		us.t.Fatalf("got %d %v", a.StatusCode, a.Header)
	}
	return c
}

func (us *upgradeServer) dialTo() *testConn {
	us.t.Helper()
	if !us.way.isTLS {
		return us.dial()
	}
	c, err := tls.Dial("tcp", us.addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		us.t.Fatal(err)
	}
	return newTestConn(us.t, c)
}

// wantText reads text.
func (c *testConn) wantText(text string) {
	c.t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(c.br, b); string(b) != text {
		c.t.Fatalf("read %q, %v; want %q", b[:n], err, text)
	}
}

// wantEnd waits for Closed, and checks what it got.
func (us *upgradeServer) wantEnd(want string) {
	us.t.Helper()
	err := <-us.closed
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		us.t.Errorf("Closed got %q, want %q", got, want)
	}
}
