package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// With pages, reading bytes that were kept in a handler is a panic that the server
// recovers, and reports what was read.
func TestGuardPages(t *testing.T) {
	var sink byte
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		u := new(harness.Uses)
		g := &gale.LifetimeGuard{Pages: true, MaxBytes: 4 << 20, OnUse: u.Add}
		if !harness.GuardIn(g).HasPages() {
			t.Skip(harness.GuardIn(g).PagesErr())
		}
		peers.KeepPools(t)
		for _, tt := range []struct {
			name string
			read func(f func())
		}{
			{"handler", func(f func()) { f() }},
			{"TimeoutHandler", nil},
		} {
			var kept []byte
			var ctx *gale.RequestCtx
			got := make(chan any, 1)
			ts := harness.Start(t, &gale.Server{
				Engine: e, GuardLifetimes: g, Logger: &peers.Log{}, PanicHandler: func(_ *gale.RequestCtx, v any) { got <- v },
			}, func(c *gale.RequestCtx) {
				if kept == nil {
					kept, ctx = c.QueryArgs().Peek("q"), c
					return
				}
				h := func(*gale.RequestCtx) { sink += kept[0] }
				if tt.read == nil {
					h = gale.TimeoutHandler(h, time.Minute, "")
				}
				h(c)
			})
			c := ts.Dial()
			c.Send(peers.Get("/first?q=alice"))
			c.Want("GET", 200, "")
			harness.Gone(t, ctx, kept)
			c.Send(peers.Get("/second"))
			c.Want("GET", 500, "Internal Server Error")
			v, ok := (<-got).(*gale.LifetimeUse)
			if !ok || v.What != "bytes" || v.Path != "/first" || !strings.Contains(v.Stack, "TestGuardPages") {
				t.Errorf("%s: PanicHandler got %v", tt.name, v)
			}
			if u.Find("bytes") == nil {
				t.Errorf("%s: OnUse was not called", tt.name)
			}
			u.Take()
			if n := ts.S.Stats().Lifetimes; n.Requests != 2 || n.Reports == 0 || n.Held == 0 {
				t.Errorf("%s: Stats has %+v", tt.name, n)
			}
		}
	})
	_ = sink
}

// A guard with a sample guards about that part of the requests.
func TestGuardSample(t *testing.T) {
	s := &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Every: 10}}
	peers.KeepPools(t)
	var n atomic.Int64
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		if door.LoanOf(ctx).(*lifetime.Loan) != nil {
			n.Add(1)
		}
	})
	c := ts.Dial()
	for range 100 {
		c.Send(strings.Repeat(peers.Get("/"), 20))
		for range 20 {
			c.Want("GET", 200, "")
		}
	}
	if got := n.Load(); got < 100 || got > 400 || uint64(got) != s.Stats().Lifetimes.Requests {
		t.Errorf("%d of 2000 requests were guarded, want about 200; Stats has %+v", got, s.Stats().Lifetimes)
	}
}
