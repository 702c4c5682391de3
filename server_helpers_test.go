package gale

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestMain(m *testing.M) { peers.Main(m) }

// EngineAuto uses the event engine for sockets of package net if the system has it, with
// TLS or without, and the block engine for everything else. Stats and a log with levels
// say which. A log without levels says it only if the requested engine isn't available.
func TestEngineFor(t *testing.T) {
	sockets := autoEngine
	if runtime.GOOS != "linux" {
		sockets = EngineBlock
	}
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		network string
		asked   Engine
		wrapped bool
		tls     bool
		want    Engine
		missed  bool // it isn't the engine that was requested
	}{
		{name: "tcp", network: "tcp", want: sockets},
		{name: "unix", network: "unix", want: sockets},
		{name: "tls", network: "tcp", tls: true, want: sockets},
		{name: "wrapped", network: "tcp", wrapped: true, want: EngineBlock},
		{name: "wrapped tls", network: "tcp", wrapped: true, tls: true, want: EngineBlock},
		{name: "block", network: "tcp", asked: EngineBlock, want: EngineBlock},
		{name: "missed", network: "tcp", asked: EngineEvent, wrapped: true, want: EngineBlock, missed: true},
	} {
		for _, structured := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", structured), func(t *testing.T) {
				addr := "127.0.0.1:0"
				if tt.network == "unix" {
					addr = filepath.Join(t.TempDir(), "socket")
				}
				ln, err := net.Listen(tt.network, addr)
				if err != nil {
					t.Skip(err)
				}
				addr = ln.Addr().String()
				if tt.wrapped {
					ln = struct{ net.Listener }{ln}
				}
				var lines peers.Log
				s := &Server{Engine: tt.asked, Handler: func(*RequestCtx) {}}
				if structured {
					s.Slog = slog.New(slog.NewTextHandler(peers.Printed{Log: &lines}, nil))
				} else {
					s.Logger = &lines
				}
				served := make(chan error, 1)
				go func() {
					if tt.tls {
						served <- s.ServeTLSEmbed(ln, cert, key)
					} else {
						served <- s.Serve(ln)
					}
				}()
				await.Until(t, "the server to listen", func() bool { return len(s.Stats().Listeners) > 0 })
				want := []ListenerStats{{Network: tt.network, Address: addr, Engine: tt.want}}
				if got := s.Stats().Listeners; !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				log := lines.String()
				switch {
				case structured:
					level := "INFO"
					if tt.missed {
						level = "WARN"
					}
					if !strings.Contains(log, "level="+level+" msg=serving") || !strings.Contains(log, "engine="+tt.want.String()) || strings.Count(log, "\n") != 1 {
						t.Errorf("the log: %q", log)
					}
				case tt.missed && !strings.Contains(log, "EngineBlock"), !tt.missed && log != "":
					t.Errorf("the log: %q", log)
				}
				if len(s.Stats().Listeners) != 0 {
					t.Error("a listener is left")
				}
			})
		}
	}
}

// h2Way is one of the ways to reach an HTTP/2 server.
type h2Way struct {
	Engine Engine
	TLS    bool
}

func (way h2Way) String() string { return peers.WayName(way.Engine, way.TLS) }

// h2Server is such a server of Gale.
type h2Server struct {
	*peers.H2Plain
	s   *Server
	way h2Way
}

func (way h2Way) start(t *testing.T, s *Server) *h2Server {
	t.Helper()
	s.Engine, s.HTTP2.H2C = way.Engine, true
	return &h2Server{peers.ServeH2(t, s, peers.LogTo(&s.Logger), way.TLS, GenerateTestCertificate), s, way}
}

// startTLS serves s over TLS and returns its address.
func startTLS(t *testing.T, s *Server) (addr string) {
	t.Helper()
	return peers.ServeTLS(t, s, peers.LogTo(&s.Logger), GenerateTestCertificate).Addr
}

// testServer is a server of Gale.
type testServer struct {
	*peers.Server
	s *Server
}

// startServer serves s, or a server with the handler h if s is nil.
func startServer(t *testing.T, s *Server, h RequestHandler) *testServer {
	t.Helper()
	if s == nil {
		s = &Server{}
	}
	if s.Handler == nil {
		s.Handler = h
	}
	return &testServer{peers.Serve(t, s, peers.LogTo(&s.Logger), nil, nil), s}
}

// echo answers with the method, the path and the body of the request.
func echo(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %s", ctx.Method(), ctx.Path(), ctx.PostBody())
}
