package router

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/gin-gonic/gin"
)

// builder builds a router again and again, until it serves.
type builder struct {
	name string
	make func() any
}

// builders returns what builds routes: that of gale, and that of gin, which proves nothing about patterns.
// That of gale serves a request, since its trees are made then.
func builders(routes []route) []builder {
	gin.SetMode(gin.ReleaseMode)
	var req gale.Request
	req.Header.SetMethod(routes[0].method)
	req.Header.SetRequestURI(target(routes[0].path))
	var ctx gale.RequestCtx
	ctx.Init(&req, nil, nil)
	colon, whole := make([]string, len(routes)), make([]string, len(routes))
	for i, rt := range routes {
		colon[i], whole[i] = colons(rt.path), rt.method+" "+rt.path
	}
	return []builder{
		{"gale", func() any {
			r := router.New()
			for _, p := range whole {
				r.Handle(p, func(*gale.RequestCtx) {})
			}
			h := r.Handler()
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
	}
}

// TestBuild says how long it takes to build a router for each table until it serves, the median of many
// turns, and how much memory it has after a collection, besides gin.
func TestBuild(t *testing.T) {
	for _, name := range order {
		routes := tables(t)[name]
		if routes == nil || name == "read20" {
			continue
		}
		all := builders(routes)
		times := make([][]time.Duration, len(all))
		for range 300 {
			for i, b := range all {
				start := time.Now()
				b.make()
				times[i] = append(times[i], time.Since(start))
			}
		}
		var of [2]struct{ bytes, objects, ns float64 }
		for i, b := range all {
			slices.Sort(times[i])
			of[i].bytes, of[i].objects = heap(b)
			of[i].ns = float64(times[i][len(times[i])/2])
		}
		gale, gin := of[0], of[1]
		t.Logf("%-8s time %4.2f of gin's (%.1f to %.1f µs), heap %4.2f (%.0f to %.0f bytes in %.0f to %.0f objects)", name,
			gale.ns/gin.ns, gale.ns/1e3, gin.ns/1e3, gale.bytes/gin.bytes, gale.bytes, gin.bytes, gale.objects, gin.objects)
	}
}

// heap returns how much memory a router has after a collection.
func heap(b builder) (bytes, objects float64) {
	const many = 20
	var before, after runtime.MemStats
	var kept [many]any
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		kept[i] = b.make()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc-before.HeapAlloc) / many, float64(after.HeapObjects-before.HeapObjects) / many
}

// BenchmarkBuild is TestBuild for profiles.
func BenchmarkBuild(b *testing.B) {
	all := tables(b)
	for _, name := range order {
		if all[name] == nil || name == "read20" {
			continue
		}
		for _, p := range builders(all[name]) {
			b.Run(name+"/"+p.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.make()
				}
			})
		}
	}
}
