package load

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/await"
)

// networks are the networks that tests run on.
var networks = map[string]func(int) (network, error){"system": newNetwork, "portable": newGoNetwork}

// onNetworks runs a test on all networks.
func onNetworks(t *testing.T, test func(t *testing.T, do func(*Plan) *figures.Run)) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			test(t, func(p *Plan) *figures.Run {
				t.Helper()
				return runOn(t, context.Background(), p, n)
			})
		})
	}
}

func runOn(t *testing.T, ctx context.Context, p *Plan, n func(int) (network, error)) *figures.Run {
	t.Helper()
	r, err := runWith(ctx, p, n)
	if err != nil {
		t.Fatal(err)
	}
	q := r.Requests
	if q.Sent != q.Good+q.Unexpected+q.Failed+q.Unanswered {
		t.Errorf("%+v: the parts don't add up to sent", q)
	}
	if s := r.Schedule; s != nil && r.Latency.Count != s.Intended {
		t.Errorf("the distribution has %d of %d starts", r.Latency.Count, s.Intended)
	}
	return r
}

// fixed is a source of equal requests.
type fixed struct{ r Request }

func (f *fixed) Fixed() *Request      { return &f.r }
func (f *fixed) Fill(*Request, int64) { panic("not called for fixed requests") }

func newFixed(method, target, body string) *fixed {
	f := &fixed{}
	f.r.Head.SetPart(msg.Method, []byte(method))
	f.r.Head.SetPart(msg.Target, []byte(target))
	f.r.Head.Set(msg.Host, nil, []byte("test"))
	f.r.Body = []byte(body)
	return f
}

// made is a source of requests with their number in the target.
type made func(r *Request, n int64)

func (made) Fixed() *Request            { return nil }
func (m made) Fill(r *Request, n int64) { m(r, n) }
func target1(addr string, s Source) Target {
	return Target{URL: "http://" + addr + "/", Network: "tcp", Address: addr, Weight: 1, Source: s}
}

// planFor returns a plan for GET requests to addr.
func planFor(addr string) *Plan {
	return &Plan{Targets: []Target{target1(addr, newFixed("GET", "/", ""))}, Connections: 4, Threads: 2, Timeout: 10 * time.Second}
}

// serve serves HTTP with package net/http.
func serve(t *testing.T, h http.HandlerFunc) string {
	return serveOn(t, listen(t), h)
}

func serveOn(t *testing.T, ln net.Listener, h http.HandlerFunc) string {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// script serves connections with a function that reads requests and writes bytes.
func script(t *testing.T, each func(c net.Conn, r *bufio.Reader)) string {
	return scriptOn(t, listen(t), each)
}

func scriptOn(t *testing.T, ln net.Listener, each func(c net.Conn, r *bufio.Reader)) string {
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			all.Go(func() {
				defer c.Close()
				each(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return ln.Addr().String()
}

// readRequest reads a request without a body and returns its first line, "" at the end.
func readRequest(r *bufio.Reader) string {
	first, err := r.ReadString('\n')
	for line := first; err == nil && line != "\r\n"; {
		line, err = r.ReadString('\n')
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(first)
}

// leaks checks at the end of a test that no goroutine of a run is left.
func leaks(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		await.Gone(t, "goroutines of a run", func() bool {
			buf := make([]byte, 1<<20)
			text := string(buf[:runtime.Stack(buf, true)])
			return !strings.Contains(text, "load.(*loop)") && !strings.Contains(text, "load.(*goNetwork)") && !strings.Contains(text, "load.(*watch)")
		})
	})
}

// withMoreTime calls f with a time that is enough on most machines. As long as f returns an
// error, it is called again with four times as much, up to a few seconds, for busy machines.
func withMoreTime(t *testing.T, least time.Duration, f func(d time.Duration) error) {
	t.Helper()
	for d := least; ; d *= 4 {
		err := f(d)
		if err == nil {
			return
		}
		if d > time.Second {
			t.Errorf("with %v: %v", d, err)
			return
		}
	}
}

func errorCount(r *figures.Run, kind string) int64 {
	for _, e := range r.Errors {
		if e.Kind == kind {
			return e.Count
		}
	}
	return 0
}
