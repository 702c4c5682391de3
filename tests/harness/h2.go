package harness

import (
	"bytes"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Attacks on HTTP/2 servers. During an attack a normal client is answered. The attacker
// is stopped at the limit that docs/reference/http2.md names, and the memory that it
// leaves in use is limited.

// H2Target is the handler under attack.
type H2Target struct {
	Running, Highest atomic.Int64 // handlers of /slow
	Release          chan struct{}
}

func (target *H2Target) handle(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/wait": // until the client resets it
		<-ctx.Done()
	case "/stuck":
		<-target.Release
	case "/slow":
		n := target.Running.Add(1)
		for was := target.Highest.Load(); n > was && !target.Highest.CompareAndSwap(was, n); was = target.Highest.Load() {
		}
		time.Sleep(10 * time.Millisecond) // a slow handler: others would begin meanwhile
		target.Running.Add(-1)
	case "/big":
		ctx.Response.SetBodyRaw(peers.BigBody)
	case "/head":
		ctx.Response.Header.Set("X-Long", peers.LongField)
	case "/endless":
		ctx.SetBodyStream(peers.Zeros{}, -1)
	default:
		ctx.SetBodyString("answer")
	}
}

// Attacked starts a server to attack.
func Attacked(t *testing.T, way H2Way, s *gale.Server) (*H2Server, *H2Target) {
	target := &H2Target{Release: make(chan struct{})}
	s.Handler = target.handle
	return way.Start(t, s), target
}

// CountBody is a handler that answers 200 if the body has the length that the field size
// says, and the bytes of one stream only.
func CountBody(ctx *gale.RequestCtx) {
	b := ctx.PostBody()
	if fmt.Sprint(len(b)) != string(ctx.Request.Header.Peek("size")) || bytes.Count(b, b[:1]) != len(b) {
		ctx.SetStatusCode(500)
	}
}

// H2Way is one of the ways to reach an HTTP/2 server.
type H2Way struct {
	Engine gale.Engine
	TLS    bool
}

func (way H2Way) String() string { return peers.WayName(way.Engine, way.TLS) }

// H2Server is such a server of Gale.
type H2Server struct {
	*peers.H2Plain
	S   *gale.Server
	Way H2Way
}

func (way H2Way) Start(t *testing.T, s *gale.Server) *H2Server {
	t.Helper()
	s.Engine, s.HTTP2.H2C = way.Engine, true
	return &H2Server{peers.ServeH2(t, s, peers.LogTo(&s.Logger), way.TLS, gale.GenerateTestCertificate), s, way}
}

// TunnelServer serves /taken by giving the stream to the test, and other paths by plain
// responses.
func TunnelServer(t *testing.T, way H2Way, s *gale.Server) (hs *H2Server, taken chan net.Conn) {
	taken = make(chan net.Conn, 16)
	s.HTTP2.WebSocket = true
	s.KeepHijackedConns = true
	s.Handler = func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/taken":
			ctx.Response.Header.Set("X-Field", "v")
			ctx.Hijack(func(nc net.Conn) { taken <- nc })
		case "/now":
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Errorf("HijackNow: %v", err)
			}
			if _, err := ctx.HijackNow(); err != gale.ErrNilConnection {
				t.Errorf("the second HijackNow: %v", err)
			}
			taken <- nc
		case "/forbidden":
			ctx.Hijack(func(net.Conn) { t.Error("a refused stream was handed over") })
			ctx.Error("not you", gale.StatusForbidden)
		default:
			fmt.Fprintf(ctx, "%s %q %s %s", ctx.Method(), ctx.ConnectProtocol(), ctx.Path(), ctx.Host())
		}
	}
	return way.Start(t, s), taken
}
