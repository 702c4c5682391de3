//go:build !race

package router_test

import (
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// TestAllocs pins that a request that a route matches allocates nothing in the router.
func TestAllocs(t *testing.T) {
	r := router.New()
	r.Use(func(next gale.RequestHandler) gale.RequestHandler { return func(ctx *gale.RequestCtx) { next(ctx) } })
	var length int
	h := func(ctx *gale.RequestCtx) {
		length += len(ctx.PeekPathValue("a")) + len(ctx.PeekPathValue("b")) + len(ctx.Pattern())
	}
	r.GET("/{$}", h)
	r.GET("/number/{n}", func(ctx *gale.RequestCtx) { n, _ := router.Number[int](ctx, "n"); length += n })
	r.GET("/a/{a}/{b}", h)
	r.GET("/f/{a...}", h)
	r.GET("/{a}.json", h)
	r.Handle("{a}.example.org/{b}", h)
	r.Fallback("GET /o/{a?}", h)
	r.Fallback("GET /r/{a:[0-9]+}.{b}/{c}", h)
	r.Fallback("GET /r/{a:[0-9]+}/{b}", h)
	r.Fallback("GET /all/{a:*}", h)
	r.Mount("/m", h)
	inner := router.New()
	inner.GET("/{b}", h)
	r.Mount("/n/{a}", inner.Handler())
	between := router.New()
	between.Mount("/in", inner.Handler())
	r.Mount("/deep/{a}", between.Handler())
	serve := r.Handler()
	for target, want := range map[string]float64{
		"/": 0, "/number/1234567": 0, "/a/1/2?x": 0, "/f/a/b/c.txt": 0, "/x.json": 0, "/m/x/y": 0, "/a/1%20/%2F": 0, "/f/%41/b": 0,
		"/n/1/2": 0, "/deep/1/in/2": 0,
		"/o": 0, "/o/1%20": 0, "/r/1/2": 0, "/r/1.2/3": 1, "/all/a/b": 0,
	} {
		ctx := request("GET", "example.com", target)
		serve(ctx)
		if got := testing.AllocsPerRun(100, func() { serve(ctx) }); got != want || ctx.Response.StatusCode() != 200 {
			t.Errorf("%s: %v allocations, status %d", target, got, ctx.Response.StatusCode())
		}
	}
	s := attached(t, r)
	for _, target := range []string{"/", "/a/1/2?x", "/f/a/b/c.txt", "/m/x/y", "/a/1/%2F"} {
		ctx := request("GET", "example.com", target)
		serve := func() { _ = s.RequestStarted(ctx); s.Handler(ctx) }
		serve()
		if got := testing.AllocsPerRun(100, serve); got != 0 {
			t.Errorf("%s, with Attach: %v allocations", target, got)
		}
	}
	ctx := request("GET", "a.example.org", "/x")
	serve(ctx)
	if got := testing.AllocsPerRun(100, func() { serve(ctx) }); got != 0 || ctx.PathValue("a") != "a" {
		t.Errorf("with a host: %v allocations", got)
	}
}
