package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// UpgradeFuncs is an UpgradeHandler made of functions, which may be nil.
type UpgradeFuncs struct {
	OnOpened   func(c *gale.UpgradedConn)
	OnReceived func(c *gale.UpgradedConn, in []byte) int
	OnStalled  func(c *gale.UpgradedConn, why error)
	OnClosed   func(c *gale.UpgradedConn, err error)
}

func (f *UpgradeFuncs) Opened(c *gale.UpgradedConn) {
	if f.OnOpened != nil {
		f.OnOpened(c)
	}
}

func (f *UpgradeFuncs) Received(c *gale.UpgradedConn, in []byte) int {
	if f.OnReceived == nil {
		if c.Stopping() {
			c.Close()
		}
		return len(in)
	}
	return f.OnReceived(c, in)
}

func (f *UpgradeFuncs) Stalled(c *gale.UpgradedConn, why error) {
	if f.OnStalled == nil {
		c.Close()
		return
	}
	f.OnStalled(c, why)
}

func (f *UpgradeFuncs) Closed(c *gale.UpgradedConn, err error) {
	if f.OnClosed != nil {
		f.OnClosed(c, err)
	}
}

// UpgradeWay is one of the ways in which a server serves an UpgradeHandler.
type UpgradeWay struct {
	Name   string
	Engine gale.Engine
	IsTLS  bool
	pump   bool // as on exchanges that know only Hijack
	H2     bool // on streams of HTTP/2
}

var UpgradeWays = []UpgradeWay{
	{"block", gale.EngineBlock, false, false, false},
	{"event", gale.EngineEvent, false, false, false},
	{"block TLS", gale.EngineBlock, true, false, false},
	{"event TLS", gale.EngineEvent, true, false, false},
	{"pump", gale.EngineEvent, false, true, false},
	{"pump TLS", gale.EngineBlock, true, true, false},
	{"HTTP2", gale.EngineEvent, false, false, true},
	{"HTTP2 TLS", gale.EngineBlock, true, false, true},
}

// OnUpgradeWays runs f for each way.
func OnUpgradeWays(t *testing.T, f func(t *testing.T, way UpgradeWay)) {
	for _, way := range UpgradeWays {
		if !slices.Contains(peers.Engines[gale.Engine](), way.Engine) {
			continue
		}
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			f(t, way)
		})
	}
}

// UpgradeServer is a server that upgrades all connections to a handler.
type UpgradeServer struct {
	*Server
	way    UpgradeWay
	Closed chan error   // what Closed got
	opened atomic.Int32 // calls of Opened without Closed
}

// Serve starts a server. h is called for each connection.
func (way UpgradeWay) Serve(t *testing.T, s *gale.Server, h func() *UpgradeFuncs) *UpgradeServer {
	t.Helper()
	us := &UpgradeServer{way: way, Closed: make(chan error, 100)}
	s.Engine, s.Logger = way.Engine, &peers.Log{}
	if way.H2 {
		s.HTTP2 = gale.HTTP2Config{H2C: true, WebSocket: true}
	}
	s.Handler = func(ctx *gale.RequestCtx) {
		f := *h()
		opened, closed, over := f.OnOpened, f.OnClosed, false
		f.OnOpened = func(c *gale.UpgradedConn) {
			us.opened.Add(1)
			if opened != nil {
				opened(c)
			}
		}
		f.OnClosed = func(c *gale.UpgradedConn, err error) {
			if over {
				t.Error("Closed was called twice")
			}
			over = true
			us.opened.Add(-1)
			us.Closed <- err
			if closed != nil {
				closed(c, err)
			}
		}
		if way.H2 {
			ctx.Upgrade(&f)
			return
		}
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Upgrade", "test")
		ctx.Response.Header.Set("Connection", "Upgrade")
		if way.pump {
			door.UpgradeByPump(ctx, &f)
			return
		}
		ctx.Upgrade(&f)
	}
	t.Cleanup(func() { // after the end of Serve
		await.Gone(t, "connections", func() bool {
			return s.GetOpenConnectionsCount() == 0 && s.Stats().UpgradedConnections == 0
		})
		if n := us.opened.Load(); n != 0 {
			t.Errorf("Closed was not called for %d connections", n)
		}
	})
	log := s.Logger.(*peers.Log)
	if way.IsTLS {
		us.Server = &Server{peers.ServeTLS(t, s, log, gale.GenerateTestCertificate), s}
	} else {
		us.Server = &Server{peers.Serve(t, s, log, nil, nil), s}
	}
	return us
}

// Connect makes a connection, with a request and more after it, and reads the response.
func (us *UpgradeServer) Connect(more string) *peers.Conn {
	us.T.Helper()
	if us.way.H2 {
		client := &gale.HostClient{Addr: us.Addr, IsTLS: us.way.IsTLS, HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		nc, err := client.OpenStream(context.Background(), ConnectRequest("/"), nil)
		if err != nil {
			us.T.Fatal(err)
		}
		us.T.Cleanup(client.CloseIdleConnections)
		c := peers.NewConn(us.T, nc)
		_, _ = io.WriteString(c, more) // the stream may have been reset by now
		return c
	}
	c := us.DialTo()
	c.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n" + more)
	if a := c.Answer("GET"); a.StatusCode != 101 || a.Header.Get("Upgrade") != "test" {
		us.T.Fatalf("got %d %v", a.StatusCode, a.Header)
	}
	return c
}

func (us *UpgradeServer) DialTo() *peers.Conn {
	us.T.Helper()
	if !us.way.IsTLS {
		return us.Dial()
	}
	c, err := tls.Dial("tcp", us.Addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		us.T.Fatal(err)
	}
	return peers.NewConn(us.T, c)
}

// WantEnd waits for Closed, and checks what it got.
func (us *UpgradeServer) WantEnd(want string) {
	us.T.Helper()
	err := <-us.Closed
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		us.T.Errorf("Closed got %q, want %q", got, want)
	}
}

// UpgradeLines answers each line with "<line>" and ends after "bye".
func UpgradeLines() *UpgradeFuncs {
	return &UpgradeFuncs{
		OnOpened: func(c *gale.UpgradedConn) { *c.Out() = append(*c.Out(), "hello\n"...) },
		OnReceived: func(c *gale.UpgradedConn, in []byte) (n int) {
			out := c.Out()
			for {
				i := bytes.IndexByte(in[n:], '\n')
				if i < 0 {
					break
				}
				line := in[n : n+i]
				n += i + 1
				if string(line) == "bye" {
					c.Close()
					return n
				}
				*out = append(append(append(*out, '<'), line...), '>')
			}
			if c.Stopping() {
				*out = append(*out, "stop"...)
				c.Close()
			}
			return n
		},
	}
}
