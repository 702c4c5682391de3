package gale

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// backListener is a listener of a program. When back is set, the methods of its connections
// and its Addr call it first.
type backListener struct {
	net.Listener
	back *atomic.Pointer[func()]
}

type backConn struct {
	net.Conn
	back *atomic.Pointer[func()]
}

// backContext is a context of a program.
type backContext struct {
	context.Context
	back *atomic.Pointer[func()]
}

func (c backContext) Done() <-chan struct{} { callBack(c.back); return c.Context.Done() }
func (c backContext) Value(key any) any     { callBack(c.back); return c.Context.Value(key) }
func (c backContext) Err() error            { callBack(c.back); return c.Context.Err() }

func callBack(back *atomic.Pointer[func()]) {
	if f := back.Load(); f != nil {
		(*f)()
	}
}

func (l backListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return backConn{c, l.back}, nil
}

func (l backListener) Addr() net.Addr { callBack(l.back); return l.Listener.Addr() }

func (c backConn) Close() error {
	callBack(c.back)
	return c.Conn.Close()
}

func (c backConn) SetDeadline(t time.Time) error {
	callBack(c.back)
	return c.Conn.SetDeadline(t)
}

func (c backConn) SetReadDeadline(t time.Time) error {
	callBack(c.back)
	return c.Conn.SetReadDeadline(t)
}

func (c backConn) SetWriteDeadline(t time.Time) error {
	callBack(c.back)
	return c.Conn.SetWriteDeadline(t)
}

// A connection of the program may call the Server in its methods, whatever the server does to
// the connection meanwhile, and whatever state that is in: no lock that the Server's methods
// take is held.
func TestConnsCallTheServer(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	idle := func(s *Server) bool { return s.engine.Idle() == 1 }
	states := []struct {
		name   string
		raw    bool     // the client sends nothing of TLS
		alpn   []string // what the client offers
		sends  string
		begins func(s *Server) bool
	}{
		{name: "handshake", raw: true, begins: func(s *Server) bool {
			s.run.mu.Lock()
			defer s.run.mu.Unlock()
			return len(s.run.handshakes) == 1
		}},
		{name: "new", begins: idle},
		{name: "part of a head", sends: "GE", begins: func(s *Server) bool { return s.engine.Settled(time.Hour) == 1 }},
		{name: "idle", sends: peers.Get("/"), begins: func(s *Server) bool { return s.Stats().Requests == 1 && idle(s) }},
		{name: "running", sends: peers.Get("/wait"), begins: func(s *Server) bool {
			s.run.mu.Lock()
			defer s.run.mu.Unlock()
			return len(s.run.waiters) == 1
		}},
		{name: "h2", alpn: []string{"h2"}, sends: preface, begins: func(s *Server) bool { return s.engine.Settled(time.Hour) == 1 && idle(s) }},
	}
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	ways := []struct {
		name string
		do   func(s *Server)
	}{
		{"Close", func(s *Server) { s.Close() }},
		{"Shutdown", func(s *Server) { _ = s.ShutdownWithContext(ended) }},
		{"drain", func(s *Server) {
			d, _ := s.beginDrain()
			s.stop(d, 0)
			s.endShutdown(d)
		}},
		{"evict", func(s *Server) { s.evictIdle(1) }},
		{"Stats", func(s *Server) { s.Stats() }},
	}
	for _, secure := range []bool{false, true} {
		for _, st := range states {
			for _, way := range ways {
				if st.raw && !secure {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/TLS=%v", st.name, way.name, secure), func(t *testing.T) {
					s := &Server{Logger: &peers.Log{}, DrainTime: time.Hour, HTTP2: HTTP2Config{H2C: true}, Handler: func(ctx *RequestCtx) {
						if string(ctx.Path()) == "/wait" {
							<-ctx.Done()
						}
					}}
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						t.Fatal(err)
					}
					back := new(atomic.Pointer[func()])
					served := make(chan error, 1)
					if secure {
						go func() { served <- s.ServeTLSEmbed(backListener{ln, back}, cert, key) }()
					} else {
						go func() { served <- s.Serve(backListener{ln, back}) }()
					}
					c, err := net.Dial("tcp", ln.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					if secure && !st.raw {
						c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: st.alpn})
					}
					tc := peers.NewConn(t, c)
					if st.sends != "" {
						tc.Send(st.sends)
					} else if tc, ok := c.(*tls.Conn); ok {
						if err := tc.Handshake(); err != nil {
							t.Fatal(err)
						}
					}
					await.Until(t, "the connection", func() bool { return st.begins(s) })

					var left, calls atomic.Int32
					left.Store(4) // else Close would call itself forever
					f := func() {
						calls.Add(1)
						if left.Add(-1) >= 0 {
							s.Stats()
							s.Draining()
							s.evictIdle(1)
							_ = s.ShutdownWithContext(ended)
							s.Close()
						}
					}
					back.Store(&f)
					done := make(chan struct{})
					go func() {
						defer close(done)
						way.do(s)
						s.Close()
					}()
					await.Until(t, way.name, func() bool {
						select {
						case <-done:
							return true
						default:
							return false
						}
					})
					if err := <-served; err != nil {
						t.Error(err)
					}
					await.Until(t, "the end of the connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
					if calls.Load() == 0 {
						t.Error("nothing was called")
					}
				})
			}
		}
	}
}

// A request that arrives while the server ends the wait of an idle connection is answered. Its
// handler begins when SetReadDeadline of the connection has returned: the deadline, which has
// passed, must not come when the connection belongs to the handler.
func TestRequestAsIdleConnEnds(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, end := range map[string]func(s *Server){
		"evict":    func(s *Server) { s.evictIdle(1) },
		"Shutdown": func(s *Server) { _ = s.ShutdownWithContext(ended) },
	} {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/H2C=%v", name, h2), func(t *testing.T) {
				begun, hit, sent := make(chan struct{}), make(chan struct{}), make(chan struct{})
				var late atomic.Bool
				back := new(atomic.Pointer[func()])
				s := &Server{Logger: &peers.Log{}, HTTP2: HTTP2Config{H2C: h2}, Handler: func(ctx *RequestCtx) {
					if string(ctx.Path()) == "/" {
						return
					}
					if late.Load() {
						t.Error("the handler began before SetReadDeadline returned")
					}
					close(begun)
					nc, err := ctx.HijackNow()
					if err != nil {
						t.Error(err)
						return
					}
					defer nc.Close()
					if _, err := io.CopyN(nc, nc, 4); err != nil {
						t.Errorf("the handler's connection: %v", err)
					}
				}}
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				go func() { _ = s.Serve(backListener{ln, back}) }()
				defer s.Close()
				c := (&peers.Server{T: t, Addr: ln.Addr().String()}).Dial()
				c.Send(peers.Get("/"))
				c.Want("GET", 200, "")
				await.Until(t, "an idle connection", func() bool { return s.engine.Idle() == 1 })
				var calls atomic.Int32
				f := func() {
					if calls.Add(1) > 1 {
						return
					}
					late.Store(true)
					close(hit)
					<-sent
					select {
					case <-begun:
					case <-time.After(20 * time.Millisecond): // the usual end
					}
					late.Store(false)
				}
				back.Store(&f)
				over := make(chan struct{})
				go func() {
					defer close(over)
					end(s)
				}()
				<-hit
				c.Send(peers.Get("/hijack"))
				close(sent)
				<-begun
				c.Send("echo")
				b := make([]byte, 4)
				if _, err := io.ReadFull(c.Br, b); err != nil || string(b) != "echo" {
					t.Errorf("%q, %v", b, err)
				}
				<-over
			})
		}
	}
}

// The same for methods of a context of the program that is the parent of a request's contexts:
// the server calls them when it makes those, and when it ends them.
func TestContextsCallTheServer(t *testing.T) {
	calls := map[string]func(ctx *RequestCtx){
		"Done":           func(ctx *RequestCtx) { <-ctx.Done() },
		"Context":        func(ctx *RequestCtx) { <-ctx.Context().Done() },
		"not hurried":    func(ctx *RequestCtx) { <-door.Of(ctx).Unhurried().Done() },
		"Done, detached": func(ctx *RequestCtx) { <-ctx.Context().Done(); ctx.Detach().Done() },
	}
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		for name, call := range calls {
			for _, early := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/early=%v", name, early), func(t *testing.T) {
					lasting, end := context.WithCancel(context.Background())
					defer end()
					var called atomic.Bool
					back := new(atomic.Pointer[func()])
					ended := make(chan struct{})
					s := &Server{Engine: e, ConnContext: func(context.Context, net.Conn) context.Context { return backContext{lasting, back} }}
					f := func() {
						if !called.Swap(true) {
							s.Stats()
							s.Close()
						}
					}
					ts := startServer(t, s, func(ctx *RequestCtx) {
						defer close(ended)
						if early {
							back.Store(&f)
						}
						call(ctx)
					})
					ts.Dial().Send(peers.Get("/"))
					await.Until(t, "the context", func() bool {
						s.run.mu.Lock()
						defer s.run.mu.Unlock()
						return early || len(s.run.waiters) == 1
					})
					back.Store(&f)
					if !early {
						go s.Close()
					}
					await.Until(t, "the end of the handler", func() bool {
						select {
						case <-ended:
							return true
						default:
							return false
						}
					})
					if !called.Load() {
						t.Error("no method of the context was called")
					}
				})
			}
		}
	})
}
