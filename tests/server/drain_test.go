package server

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// awaitDrain waits until a shutdown of s has begun.
func awaitDrain(t *testing.T, s *gale.Server) {
	t.Helper()
	await.Until(t, "the drain to begin", s.Draining)
}

// While the server drains, idle connections stay open, each answer says close, whichever
// code makes it, and limits still apply.
func TestDrainAnswersClose(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, DrainTime: time.Hour, MaxConnsPerIP: 8}, func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/flush":
				ctx.Response.Header.SetContentLength(2)
				ctx.WriteString("o")
				ctx.Flush()
				ctx.WriteString("k")
				return
			case "/stream":
				ctx.SetBodyStream(strings.NewReader("ok"), 2)
				return
			case "/error":
				ctx.Error("ok", 200)
				return
			}
			ctx.SetBodyString("ok")
		})
		requests := []string{
			peers.Get("/"), peers.Get("/flush"), peers.Get("/stream"), peers.Get("/error"),
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		}
		var kept []*peers.Conn
		for range requests {
			c := ts.Dial()
			c.WantOpen()
			kept = append(kept, c)
		}
		ended := make(chan error, 1)
		go func() { ended <- ts.S.Shutdown() }()
		awaitDrain(t, ts.S)
		for i, r := range requests {
			for _, c := range []*peers.Conn{kept[i], ts.Dial()} {
				c.Send(r)
				if a := c.Want("GET", 200, "ok"); a.Header.Get("Connection") != "close" && !a.Close {
					t.Errorf("no close in the answer to %q", r)
				}
				c.WantClosed()
			}
		}
		await.Until(t, "the connections to be gone", func() bool { return ts.S.Stats().OpenConnections == 0 })
		for range 8 {
			ts.Dial()
		}
		await.Until(t, "as many connections as there may be", func() bool { return ts.S.Stats().OpenConnections == 8 })
		if a := ts.Dial().Answer("GET"); a.StatusCode != 429 {
			t.Errorf("one connection more got %d", a.StatusCode)
		}
		ts.S.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Done of a handler is closed when the drain has ended, and not before.
func TestDrainAndDone(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		in, done := make(chan context.Context, 4), make(chan error, 4)
		ts := harness.Start(t, &gale.Server{Engine: e, DrainTime: time.Hour}, func(ctx *gale.RequestCtx) {
			in <- ctx.Context()
			<-ctx.Done()
			done <- ctx.Err()
		})
		before := ts.Dial()
		before.Send(peers.Get("/"))
		first := <-in
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- ts.S.ShutdownWithContext(ctx) }()
		awaitDrain(t, ts.S)
		during := ts.Dial()
		during.Send(peers.Get("/"))
		second := <-in
		if first.Err() != nil || second.Err() != nil {
			t.Errorf("a request ended while the server drains: %v, %v", first.Err(), second.Err())
		}
		cancel()
		for range 2 {
			if err := <-done; err != context.Canceled {
				t.Errorf("Err is %v", err)
			}
		}
		before.Want("GET", 200, "")
		during.Want("GET", 200, "")
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
	})
}

// Several calls of Shutdown share a drain. The first one whose context ends ends it for
// all.
func TestDrainIsShared(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, DrainTime: time.Hour}, harness.Echo)
		harness.Serving(t, ts.S, 1)
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- ts.S.Shutdown() }()
		}
		awaitDrain(t, ts.S)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := ts.S.ShutdownWithContext(ctx); err != nil && err != context.Canceled {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if ts.S.Draining() {
			t.Error("it still drains")
		}
	})
}

// Close ends a drain, with the connections.
func TestCloseEndsDrain(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, DrainTime: time.Hour}, harness.Echo)
		c := ts.Dial()
		c.WantOpen()
		ended := make(chan error, 1)
		go func() { ended <- ts.S.Shutdown() }()
		awaitDrain(t, ts.S)
		ts.S.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(c); len(b) > 0 {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

// A server that drains serves new connections until the drain ends, also those of
// listeners that are added meanwhile. After the shutdown it can serve again as before.
func TestServeDuringAndAfterDrain(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, DrainTime: time.Hour}, harness.Echo)
		harness.Serving(t, ts.S, 1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- ts.S.ShutdownWithContext(ctx) }()
		awaitDrain(t, ts.S)

		client, server := net.Pipe()
		conn := make(chan error, 1)
		go func() { conn <- ts.S.ServeConn(server) }()
		c := peers.NewConn(t, client)
		c.Send(peers.Get("/"))
		if a := c.Want("GET", 200, "GET / "); !a.Close {
			t.Error("ServeConn: the answer doesn't say close")
		}
		if err := <-conn; err != nil {
			t.Error(err)
		}

		serve := func() (*harness.Server, chan error) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- ts.S.Serve(ln) }()
			return &harness.Server{Server: &peers.Server{T: t, Addr: ln.Addr().String()}, S: ts.S}, served
		}
		second, served := serve()
		c = second.Dial()
		c.Send(peers.Get("/"))
		if a := c.Want("GET", 200, "GET / "); !a.Close {
			t.Error("a listener that came later: the answer doesn't say close")
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
		if err := ts.S.Shutdown(); err != nil { // there is nothing to drain
			t.Error(err)
		}

		third, _ := serve()
		c = third.Dial()
		c.WantOpen()
		c.WantOpen()
		if ts.S.Draining() {
			t.Error("it serves again, and says that it drains")
		}
	})
}

// If the context ends during the drain, idle connections are closed at once, and running
// requests are answered.
func TestDrainEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan bool)
		s := &gale.Server{DrainTime: time.Minute, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) { <-hold }}
		ln := galeutil.NewInmemoryListener()
		go s.Serve(ln)
		client, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := peers.NewConn(t, client)
		c.Send(peers.Get("/"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		if err := s.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if !s.Draining() {
			t.Error("a request is in flight, and Draining is false")
		}
		close(hold)
		if a := c.Want("GET", 200, ""); !a.Close {
			t.Error("no close")
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}
