package gale

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// awaitShutdown waits until a shutdown of s has begun.
func awaitShutdown(t *testing.T, s *Server) {
	t.Helper()
	await(t, "the shutdown to begin", func() bool {
		s.run.mu.Lock()
		defer s.run.mu.Unlock()
		return s.run.shutdowns > 0
	})
}

func TestShutdownExpired(t *testing.T) {
	hold := make(chan bool)
	in := make(chan bool, 8)
	ts := startServer(t, nil, func(ctx *RequestCtx) { in <- true; <-hold })
	c := ts.dial()
	c.send(get("/"))
	<-in
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := ts.s.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(hold)
	if a := c.read("GET"); !a.Close {
		t.Error("the response to a request in flight at shutdown doesn't close")
	}
}

func TestTwoShutdowns(t *testing.T) {
	hold := make(chan bool)
	in := make(chan bool, 8)
	ts := startServer(t, nil, func(ctx *RequestCtx) { in <- true; <-hold })
	c := ts.dial()
	c.send(get("/"))
	<-in
	first := make(chan error, 1)
	go func() { first <- ts.s.Shutdown() }()
	awaitShutdown(t, ts.s)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ts.s.ShutdownWithContext(ctx)
	close(hold)
	c.read("GET")
	select {
	case <-first:
	case <-time.After(time.Minute):
		t.Error("Shutdown hangs")
	}
}

func TestCloseOfNewConnection(t *testing.T) {
	hold := make(chan bool)
	in := make(chan bool, 1)
	s := &Server{ConnState: func(c net.Conn, st ConnState) {
		if st == StateNew {
			in <- true
			<-hold
		}
	}}
	ts := startServer(t, s, echo)
	c := ts.dial()
	<-in
	s.Close()
	close(hold)
	if b, err := io.ReadAll(c); err != nil {
		t.Errorf("%q %v: served on after Close", b, err)
	}
}

func TestServeTwice(t *testing.T) {
	s := &Server{Handler: echo, Logger: &testLog{}}
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
	serving(t, s, 1)
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
	s := &Server{Handler: func(ctx *RequestCtx) { in <- true; <-hold }}
	client, server := net.Pipe()
	go s.ServeConn(server)
	c := newTestConn(t, client)
	go io.WriteString(client, get("/"))
	<-in
	first := make(chan error, 1)
	go func() { first <- s.Shutdown() }()
	awaitShutdown(t, s)
	client2, server2 := net.Pipe()
	go s.ServeConn(server2)
	close(hold)
	newTestConn(t, client2).wantClosed()
	c.read("GET")
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// A client that was refused and goes on sending must not delay a shutdown for as long as
// the server would otherwise read from its connection.
func TestShutdownDoesNotWaitForRefused(t *testing.T) {
	ts := startServer(t, &Server{MaxRequestBodySize: 10}, func(ctx *RequestCtx) {})
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	c.read("POST")
	stop := make(chan struct{})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second) // otherwise it would be read from for 5
	defer cancel()
	if err := ts.s.ShutdownWithContext(ctx); err != nil {
		t.Error(err)
	}
	close(stop)
	<-sent
}

func TestGracefulShutdown(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	s := &Server{Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			started <- struct{}{}
			<-ctx.Done() // the handler knows of the shutdown
			<-release
		}
		ctx.SetBodyString("done")
	}}
	ts := startServer(t, s, nil)
	idle, busy, fresh, half := ts.dial(), ts.dial(), ts.dial(), ts.dial()
	idle.wantOpen()
	busy.send(get("/slow"))
	<-started
	idles := func(n int) func() bool {
		return func() bool { st := s.Stats(); return st.OpenConnections == 4 && st.IdleConnections == n }
	}
	await(t, "the others to be idle", idles(3))
	half.send("GET / HT")
	await(t, "the server to read it", idles(2))
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown() }()
	idle.wantClosed()
	fresh.wantClosed()
	half.send("TP/1.1\r\nHost: h\r\n\r\n")
	if a := half.want("GET", 200, "done"); !a.Close {
		t.Error("no Connection: close during the shutdown")
	}
	close(release)
	busy.want("GET", 200, "done")
	busy.wantClosed()
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
		s := &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ts := startServer(t, s, nil)
		var wg sync.WaitGroup
		for range 20 {
			c := ts.dial()
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					if _, err := io.WriteString(c, get("/")); err != nil {
						return
					}
					resp, err := http.ReadResponse(c.br, nil)
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
		time.Sleep(20 * time.Millisecond)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
