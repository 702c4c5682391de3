package server

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestNoForeignBytes proves that no answer has a token of another request. It sends
// requests with a token in target, header, cookie and body on 64 connections, pipelined,
// with panics, timeouts and aborts among them. Contexts and buffers are used again all
// the time, even with the race detector.
func TestNoForeignBytes(t *testing.T) {
	peers.UsedAgain(t)
	harness.SendTokens(t, &gale.Server{}, peers.LeakRequests())
}

// TestNothingIsLeft proves that there are no more goroutines and descriptors than before
// after clients have come and gone in every way.
func TestNothingIsLeft(t *testing.T) {
	check := peers.Settled(t)
	s := &gale.Server{StreamRequestBody: true, ReadTimeout: 200 * time.Millisecond, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/done":
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond): // some clients leave meanwhile
			}
		case "/panic":
			panic("on purpose")
		case "/hijack":
			ctx.Hijack(func(net.Conn) {})
		case "/writer":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x") })
		case "/pipe":
			ctx.SetBodyStream(gale.NewStreamReader(func(w *bufio.Writer) { w.WriteString("x") }), -1)
		case "/timeout":
			gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "t")(ctx)
		}
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 20 {
				c, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				c.SetDeadline(time.Now().Add(time.Minute))
				paths := []string{"/", "/done", "/panic", "/hijack", "/writer", "/pipe", "/timeout"}
				req := peers.Post(paths[(i+j)%len(paths)], "some body")
				if j%3 == 0 {
					req = req[:len(req)*j/20]
				}
				io.WriteString(c, req)
				if j%2 == 0 {
					c.Read(make([]byte, 100))
				}
				if j%5 == 0 {
					c.(*net.TCPConn).SetLinger(0) // reset
				}
				c.Close()
			}
		}()
	}
	wg.Wait()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	check()
}

// TestGuardIsSilent proves that nothing is reported where nothing is used too late: the
// requests of TestNoForeignBytes, all guarded, with pages if the system has them.
// GALE_LEAK_REQUESTS says how many requests each test sends.
func TestGuardIsSilent(t *testing.T) {
	peers.KeepPools(t)
	total := peers.GuardedRequests()
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		u := new(harness.Uses)
		g := &gale.LifetimeGuard{Pages: true, OnUse: u.Add}
		harness.SendTokens(t, &gale.Server{Engine: e, GuardLifetimes: g}, total)
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "%d reports, the first is\n%v", len(late), late[0])
		}
		peers.WantGuarded(t, harness.GuardIn(g), total)
	})
}
