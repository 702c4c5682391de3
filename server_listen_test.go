package gale

import (
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/galehttp/gale/internal/sockopt"
)

// serving waits until s serves n listeners and returns their addresses.
func serving(t *testing.T, s *Server, n int) (addrs []string) {
	t.Helper()
	await(t, "the server to listen", func() bool { return len(s.Stats().Listeners) >= n })
	for _, l := range s.Stats().Listeners {
		addrs = append(addrs, l.Address)
	}
	return addrs
}

// ListenConfig applies to the sockets that the server opens. Their connections are served
// as usual: plain, with TLS, on UNIX sockets, and by several servers on one address.
func TestListenConfig(t *testing.T) {
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	all := ListenConfig{ReusePort: runtime.GOOS == "linux", DeferAccept: true, FastOpen: true, Backlog: 100}
	onEngines(t, func(t *testing.T, e Engine) {
		start := func(serve func(s *Server) error) (s *Server, addr string) {
			s = &Server{Engine: e, ListenConfig: all, Logger: &testLog{}, Handler: func(ctx *RequestCtx) { ctx.WriteString("served") }}
			served := make(chan error, 1)
			go func() { served <- serve(s) }()
			t.Cleanup(func() {
				s.Close()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
			return s, serving(t, s, 1)[0]
		}
		ask := func(network, addr string) {
			t.Helper()
			c, err := net.Dial(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			tc := newTestConn(t, c)
			tc.send(get("/"))
			tc.want("GET", 200, "served")
		}
		_, addr := start(func(s *Server) error { return s.ListenAndServe("127.0.0.1:0") })
		ask("tcp", addr)
		if all.ReusePort {
			start(func(s *Server) error { return s.ListenAndServe(addr) })
			for range 10 {
				ask("tcp", addr)
			}
			alone := &Server{Handler: func(*RequestCtx) {}, Logger: &testLog{}}
			if err := alone.ListenAndServe(addr); err == nil {
				t.Error("a server that doesn't share its address joined those that do")
			}
		}
		start(func(s *Server) error { return s.ListenAndServeTLSEmbed("127.0.0.1:0", cert, key) })
		if runtime.GOOS != "windows" {
			path := filepath.Join(t.TempDir(), "socket")
			start(func(s *Server) error { return s.ListenAndServeUNIX(path, 0o600) })
			ask("unix", path)
		}
	})
}

// The loops of a server share its listeners, and all connections are served.
func TestListenersOnLoops(t *testing.T) {
	s := &Server{Engine: EngineEvent, EventLoops: 2, Logger: &testLog{}, Handler: func(ctx *RequestCtx) { ctx.WriteString("served") }}
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
	serving(t, s, cap(served))
	var conns []*testConn
	for range 40 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, newTestConn(t, c))
	}
	for _, c := range conns {
		c.send(get("/"))
		c.want("GET", 200, "served")
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
