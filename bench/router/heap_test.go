package router

import (
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/gin-gonic/gin"
)

// TestBuild says how long it takes to build a router for the table github until it serves, and how much
// memory that takes afterwards, besides gin.
func TestBuild(t *testing.T) {
	routes := tables(t)["github"]
	if routes == nil {
		t.Skip("there is no table")
	}
	gin.SetMode(gin.ReleaseMode)
	var ctx gale.RequestCtx
	colon := make([]string, len(routes))
	whole := make([]string, len(routes))
	for i, rt := range routes {
		colon[i], whole[i] = colons(rt.path), rt.method+" "+rt.path
	}
	for _, p := range []struct {
		name string
		make func() any
	}{
		{"gale", func() any {
			r := router.New()
			for _, p := range whole {
				r.Handle(p, func(*gale.RequestCtx) {})
			}
			h := r.Handler()
			ctx.Request.Reset()
			h(&ctx)
			return h
		}},
		{"gin", func() any {
			g := gin.New()
			for i := range routes {
				g.Handle(routes[i].method, colon[i], func(*gin.Context) {})
			}
			return g
		}},
	} {
		best := time.Hour
		for range 200 {
			start := time.Now()
			p.make()
			best = min(best, time.Since(start))
		}
		const many = 20
		var before, after runtime.MemStats
		var kept [many]any
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			kept[i] = p.make()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%s: %d bytes in %d objects, %v", p.name, (after.HeapAlloc-before.HeapAlloc)/many, (after.HeapObjects-before.HeapObjects)/many, best)
		runtime.KeepAlive(kept)
	}
}
