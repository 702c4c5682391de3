package server

import (
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/sockopt"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ListenConfig applies to the sockets that the server opens. Their connections are served
// as usual: plain, with TLS, on UNIX sockets, and by several servers on one address.
func TestListenConfig(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	all := gale.ListenConfig{ReusePort: runtime.GOOS == "linux", DeferAccept: true, FastOpen: true, Backlog: 100}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		start := func(serve func(s *gale.Server) error) (s *gale.Server, addr string) {
			s = &gale.Server{Engine: e, ListenConfig: all, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) { ctx.WriteString("served") }}
			served := make(chan error, 1)
			go func() { served <- serve(s) }()
			t.Cleanup(func() {
				s.Close()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
			return s, harness.Serving(t, s, 1)[0]
		}
		ask := func(network, addr string) {
			t.Helper()
			c, err := net.Dial(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			tc := peers.NewConn(t, c)
			tc.Send(peers.Get("/"))
			tc.Want("GET", 200, "served")
		}
		_, addr := start(func(s *gale.Server) error { return s.ListenAndServe("127.0.0.1:0") })
		ask("tcp", addr)
		if all.ReusePort {
			start(func(s *gale.Server) error { return s.ListenAndServe(addr) })
			for range 10 {
				ask("tcp", addr)
			}
			alone := &gale.Server{Handler: func(*gale.RequestCtx) {}, Logger: &peers.Log{}}
			if err := alone.ListenAndServe(addr); err == nil {
				t.Error("a server that doesn't share its address joined those that do")
			}
		}
		start(func(s *gale.Server) error { return s.ListenAndServeTLSEmbed("127.0.0.1:0", cert, key) })
		if runtime.GOOS != "windows" {
			path := filepath.Join(t.TempDir(), "socket")
			start(func(s *gale.Server) error { return s.ListenAndServeUNIX(path, 0o600) })
			ask("unix", path)
		}
	})
}

// The loops of a server share its listeners, and all connections are served.
func TestListenersOnLoops(t *testing.T) {
	s := &gale.Server{Engine: gale.EngineEvent, EventLoops: 2, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) { ctx.WriteString("served") }}
	cfg := sockopt.Options{ReusePort: true}
	addr := "127.0.0.1:0"
	served := make(chan error, 3)
	for range cap(served) {
		ln, err := cfg.Listen("tcp4", addr)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		addr = ln.Addr().String()
		go func() { served <- s.Serve(ln) }()
	}
	harness.Serving(t, s, cap(served))
	var conns []*peers.Conn
	for range 40 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, peers.NewConn(t, c))
	}
	for _, c := range conns {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "served")
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	for range cap(served) {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
