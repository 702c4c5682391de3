package gale

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

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
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ts.s.ShutdownWithContext(ctx)
	close(hold)
	c.read("GET")
	select {
	case <-first:
	case <-time.After(2 * time.Second):
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
	c.SetDeadline(time.Now().Add(2 * time.Second))
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
	time.Sleep(50 * time.Millisecond)
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
	time.Sleep(50 * time.Millisecond)
	client2, server2 := net.Pipe()
	go s.ServeConn(server2)
	close(hold)
	newTestConn(t, client2).wantClosed()
	c.read("GET")
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// A client that was refused and goes on sending must not hold a shutdown up for as
// long as its connection would otherwise be read from.
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
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second) // it would be read from for 5
	defer cancel()
	if err := ts.s.ShutdownWithContext(ctx); err != nil {
		t.Error(err)
	}
	close(stop)
	<-sent
}
