//go:build !race

package server

import (
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestAfterSendAllocs proves that AfterSend itself allocates nothing.
func TestAfterSendAllocs(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		count := 0
		f := func(int64, error) { count++ }
		body := make([]byte, 100)
		ts := harness.Start(t, &gale.Server{Engine: e, NoDefaultDate: true}, func(ctx *gale.RequestCtx) {
			ctx.AfterSend(f)
			ctx.SetBody(body)
		})
		if allocs := requestAllocs(ts, "/", string(body)); allocs >= 1 {
			t.Errorf("%v allocations for a request", allocs)
		}
	})
}

// TestAttachAllocs proves that a request of a router allocates nothing whose route is found, and limited, before
// its body is read.
func TestAttachAllocs(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		r := router.New()
		h := func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.PeekPathValue("x")) }
		r.GET("/free/{x}", h)
		r.GET("/limited/{x}", h).Limit(router.Limits{MaxBody: 10, ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxConcurrent: 2})
		s := &gale.Server{Engine: e, NoDefaultDate: true}
		attach(t, r, s)
		ts := harness.Start(t, s, nil)
		for _, path := range []string{"/free/value", "/limited/value"} {
			if allocs := requestAllocs(ts, path, "value"); allocs >= 1 {
				t.Errorf("%s: %v allocations for a request", path, allocs)
			}
		}
	})
}

// requestAllocs returns how many allocations a request makes, whose response has the body want.
func requestAllocs(ts *harness.Server, path, want string) float64 {
	t, c := ts.T, ts.Dial()
	request := []byte(peers.Get(path))
	c.Send(peers.Get(path))
	a := c.Answer("GET")
	c.Send(peers.Get(path))
	buf := make([]byte, 4<<10)
	n, err := c.Br.Read(buf) // a whole response, by one write
	if err != nil || a.Text != want {
		t.Fatalf("the first requests: %q, %v", a.Text, err)
	}
	round := func() {
		if _, err := c.Conn.Write(request); err != nil {
			t.Fatalf("writing: %v", err)
		}
		if _, err := io.ReadFull(c.Br, buf[:n]); err != nil {
			t.Fatalf("reading: %v", err)
		}
	}
	for range 100 {
		round()
	}
	return testing.AllocsPerRun(500, round)
}
