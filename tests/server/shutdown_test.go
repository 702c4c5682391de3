package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestTwoShutdowns(t *testing.T) {
	hold := make(chan bool)
	in := make(chan bool, 8)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) { in <- true; <-hold })
	c := ts.Dial()
	c.Send(peers.Get("/"))
	<-in
	first := make(chan error, 1)
	go func() { first <- ts.S.Shutdown() }()
	peers.AwaitShutdown(t, ts.S)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ts.S.ShutdownWithContext(ctx)
	close(hold)
	c.Answer("GET")
	select {
	case <-first:
	case <-time.After(time.Minute):
		t.Error("Shutdown hangs")
	}
}

func TestServeTwice(t *testing.T) {
	s := &gale.Server{Handler: harness.Echo, Logger: &peers.Log{}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	res := make(chan any, 2)
	for range 2 {
		go func() {
			defer func() { res <- recover() }()
			s.Serve(ln)
		}()
	}
	harness.Serving(t, s, 1)
	s.Shutdown()
	for range 2 {
		if r := <-res; r != nil {
			t.Error(r)
		}
	}
}

func TestServeConnDuringShutdown(t *testing.T) {
	hold := make(chan bool)
	in := make(chan bool, 8)
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { in <- true; <-hold }}
	client, server := net.Pipe()
	go s.ServeConn(server)
	c := peers.NewConn(t, client)
	go io.WriteString(client, peers.Get("/"))
	<-in
	first := make(chan error, 1)
	go func() { first <- s.Shutdown() }()
	peers.AwaitShutdown(t, s)
	client2, server2 := net.Pipe()
	go s.ServeConn(server2)
	close(hold)
	peers.NewConn(t, client2).WantClosed()
	c.Answer("GET")
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// Close ends what was there. A connection that comes after it is served, also if a Shutdown from
// before still waits for a handler.
func TestServeConnAfterClose(t *testing.T) {
	hold, in := make(chan bool), make(chan bool)
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/held" {
			in <- true
			<-hold
		}
	}}
	client, server := net.Pipe()
	defer client.Close()
	go s.ServeConn(server)
	go io.WriteString(client, peers.Get("/held"))
	<-in
	first := make(chan error, 1)
	go func() { first <- s.Shutdown() }()
	peers.AwaitShutdown(t, s)
	if err := s.Close(); err != nil {
		t.Error("Close:", err)
	}
	client2, server2 := net.Pipe()
	go s.ServeConn(server2)
	c := peers.NewConn(t, client2)
	go io.WriteString(client2, peers.Get("/"))
	c.Answer("GET")
	client2.Close()
	close(hold)
	if err := <-first; err != nil {
		t.Error("Shutdown:", err)
	}
}

// A client that was refused and goes on sending must not delay a shutdown for as long as
// the server would otherwise read from its connection.
func TestShutdownDoesNotWaitForRefused(t *testing.T) {
	ts := harness.Start(t, &gale.Server{MaxRequestBodySize: 10}, func(ctx *gale.RequestCtx) {})
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	c.Answer("POST")
	stop := make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond): // a slow client
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second) // otherwise it would be read from for 5
	defer cancel()
	if err := ts.S.ShutdownWithContext(ctx); err != nil {
		t.Error(err)
	}
	close(stop)
	<-sent
}

func TestGracefulShutdown(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			started <- struct{}{}
			<-ctx.Done() // the handler knows of the shutdown
			<-release
		}
		ctx.SetBodyString("done")
	}}
	ts := harness.Start(t, s, nil)
	idle, busy, fresh, half := ts.Dial(), ts.Dial(), ts.Dial(), ts.Dial()
	idle.WantOpen()
	busy.Send(peers.Get("/slow"))
	<-started
	idles := func(n int) func() bool {
		return func() bool { st := s.Stats(); return st.OpenConnections == 4 && st.IdleConnections == n }
	}
	await.Until(t, "the others to be idle", idles(3))
	half.Send("GET / HT")
	await.Until(t, "the server to read it", idles(2))
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown() }()
	idle.WantClosed()
	fresh.WantClosed()
	half.Send("TP/1.1\r\nHost: h\r\n\r\n")
	if a := half.Want("GET", 200, "done"); !a.Close {
		t.Error("no Connection: close during the shutdown")
	}
	close(release)
	busy.Want("GET", 200, "done")
	busy.WantClosed()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := s.GetOpenConnectionsCount(); n != 0 {
		t.Errorf("%d connections open", n)
	}
}

// Shutdown under load: every request of which the server has read something is answered.
func TestShutdownLosesNothing(t *testing.T) {
	for range 5 {
		s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("ok") }}
		ts := harness.Start(t, s, nil)
		var wg sync.WaitGroup
		for range 20 {
			c := ts.Dial()
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					if _, err := io.WriteString(c, peers.Get("/")); err != nil {
						return
					}
					resp, err := http.ReadResponse(c.Br, nil)
					if err != nil {
						if err != io.EOF && err != io.ErrUnexpectedEOF && !strings.Contains(err.Error(), "reset") {
							t.Errorf("an answer in part: %v", err)
						}
						return
					}
					if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" {
						t.Errorf("got %q, %v", b, err)
						return
					}
					if resp.Close {
						return
					}
				}
			}()
		}
		await.Until(t, "all clients to be served for a while", func() bool { return s.Stats().Requests >= 200 })
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// watchedConn is a connection that says when it is about to be closed.
type watchedConn struct {
	net.Conn
	closing func()
}

func (c *watchedConn) Close() error {
	c.closing()
	return c.Conn.Close()
}

type watchedListener struct {
	net.Listener
	closing func()
}

func (ln watchedListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{c, ln.closing}, nil
}

// TestCloseBeforeContexts proves that Close closes connections before contexts end: a handler
// that returns then can't send what it has as a whole response. The cause says who has closed them.
func TestCloseBeforeContexts(t *testing.T) {
	t.Run("order", func(t *testing.T) {
		asked, ended := make(chan context.Context, 1), make(chan error, 1)
		var unhurried context.Context
		s := &gale.Server{Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			unhurried = door.Of(ctx).Unhurried()
			asked <- ctx.Context()
			<-ctx.Context().Done()
			<-unhurried.Done()
			ended <- context.Cause(unhurried)
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var ctx context.Context
		var early atomic.Bool
		served := make(chan error, 1)
		go func() {
			served <- s.Serve(watchedListener{ln, sync.OnceFunc(func() {
				early.Store(ctx.Err() != nil || unhurried.Err() != nil)
			})})
		}()
		c := (&peers.Server{T: t, Addr: ln.Addr().String()}).Dial()
		c.Send(peers.Get("/"))
		ctx = <-asked
		s.Close()
		if early.Load() {
			t.Error("a context has ended before the connection was closed")
		}
		if cause := <-ended; cause != net.ErrClosed {
			t.Errorf("the cause is %v", cause)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		asked, causes := make(chan bool), make(chan error, 2)
		hs := way.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			all := []context.Context{ctx.Context(), door.Of(ctx).Unhurried()}
			close(asked)
			for _, c := range all {
				<-c.Done()
				causes <- context.Cause(c)
			}
			ctx.SetBodyString("a part of the answer")
		}})
		answered := make(chan error, 1)
		go func() {
			resp, err := hs.Client(major).Get(hs.URL("/"))
			if err == nil {
				resp.Body.Close()
			}
			answered <- err
		}()
		<-asked
		hs.S.Close()
		for range 2 {
			if cause := <-causes; cause != net.ErrClosed {
				t.Errorf("the cause is %v", cause)
			}
		}
		if err := <-answered; err == nil {
			t.Error("a handler that Close has interrupted was answered for")
		}
	})
}
