package router

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	fastrouter "github.com/fasthttp/router"
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/julienschmidt/httprouter"
	"github.com/labstack/echo/v5"
	"github.com/uptrace/bunrouter"
	"github.com/valyala/fasthttp"
)

type route struct{ method, path string }

// tables are what is measured: names of values are those of http.ServeMux.
func tables(tb testing.TB) map[string][]route {
	all := map[string][]route{}
	for _, name := range []string{"static", "parse", "gplus", "github"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "router", name+".txt"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if method, path, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !refused(name, method, path) {
				all[name] = append(all[name], route{method, path})
			}
		}
	}
	for _, n := range []int{1, 5, 20} {
		path := ""
		for i := range n {
			path += "/{p" + strconv.Itoa(i) + "}"
		}
		all["param"+strconv.Itoa(n)] = []route{{"GET", path}}
	}
	all["read20"] = all["param20"]
	return all
}

// refused are routes of the table that the rules of http.ServeMux refuse as conflicts.
func refused(table, method, path string) bool {
	const issues = "/repos/{owner}/{repo}/issues/"
	switch {
	case table != "github":
		return false
	case path == issues+"comments/{id}":
		return method == "GET" || method == "DELETE"
	case path == issues+"events/{id}", path == "/repos/{owner}/{repo}/pulls/comments/{number}":
		return method == "GET"
	}
	return false
}

// target is a path that a route matches.
func target(path string) string {
	return strings.NewReplacer("{", "", "}", "", "...", "").Replace(path)
}

// colons writes a path with ":name" and "*name".
func colons(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasSuffix(p, "...}") {
			parts[i] = "*" + p[1:len(p)-4]
		} else if strings.HasPrefix(p, "{") {
			parts[i] = ":" + p[1:len(p)-1]
		}
	}
	return strings.Join(parts, "/")
}

func wildcards(path string) (names []string) {
	for p := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(p, "{") {
			names = append(names, strings.TrimSuffix(p[1:len(p)-1], "..."))
		}
	}
	return names
}

type writer struct{ h http.Header }

func (w *writer) Header() http.Header         { return w.h }
func (w *writer) Write(p []byte) (int, error) { return len(p), nil }
func (w *writer) WriteString(s string) (int, error) {
	return len(s), nil
}
func (w *writer) WriteHeader(int) {}

// sink keeps reads of values.
var sink int

// nethttp runs a handler of net/http for each route.
func nethttp(h http.Handler, routes []route) func() {
	var requests []*http.Request
	for _, r := range routes {
		req, err := http.NewRequest(r.method, target(r.path), nil)
		if err != nil {
			panic(err)
		}
		req.RequestURI = req.URL.Path
		requests = append(requests, req)
	}
	w := &writer{http.Header{}}
	return func() {
		for _, req := range requests {
			h.ServeHTTP(w, req)
		}
	}
}

// peers build a router for routes. read says that handlers read all values.
var peers = []struct {
	name  string
	build func(routes []route, read bool) func()
}{
	{"gale", func(routes []route, read bool) func() {
		r := router.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			r.Handle(rt.method+" "+rt.path, func(ctx *gale.RequestCtx) {
				if read {
					for _, n := range names {
						sink += len(ctx.PeekPathValue(n))
					}
				}
			})
		}
		h := r.Handler()
		var ctxs []*gale.RequestCtx
		for _, rt := range routes {
			var req gale.Request
			req.Header.SetMethod(rt.method)
			req.Header.SetRequestURI(target(rt.path))
			ctx := &gale.RequestCtx{}
			ctx.Init(&req, nil, nil)
			ctxs = append(ctxs, ctx)
		}
		return func() {
			for _, ctx := range ctxs {
				h(ctx)
			}
		}
	}},
	{"gin", func(routes []route, read bool) func() {
		gin.SetMode(gin.ReleaseMode)
		g := gin.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			g.Handle(rt.method, colons(rt.path), func(c *gin.Context) {
				if read {
					for _, n := range names {
						sink += len(c.Param(n))
					}
				}
			})
		}
		return nethttp(g, routes)
	}},
	{"echo", func(routes []route, read bool) func() {
		e := echo.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			e.Add(rt.method, colons(rt.path), func(c *echo.Context) error {
				if read {
					for _, n := range names {
						sink += len(c.Param(n))
					}
				}
				return nil
			})
		}
		return nethttp(e, routes)
	}},
	{"httprouter", func(routes []route, read bool) func() {
		r := httprouter.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			r.Handle(rt.method, colons(rt.path), func(_ http.ResponseWriter, _ *http.Request, ps httprouter.Params) {
				if read {
					for _, n := range names {
						sink += len(ps.ByName(n))
					}
				}
			})
		}
		return nethttp(r, routes)
	}},
	{"bunrouter", func(routes []route, read bool) func() {
		r := bunrouter.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			r.Handle(rt.method, colons(rt.path), func(_ http.ResponseWriter, req bunrouter.Request) error {
				if read {
					for _, n := range names {
						sink += len(req.Param(n))
					}
				}
				return nil
			})
		}
		return nethttp(r, routes)
	}},
	{"chi", func(routes []route, read bool) func() {
		r := chi.NewRouter()
		for _, rt := range routes {
			names := wildcards(rt.path)
			path := rt.path
			if i := strings.Index(path, "..."); i >= 0 {
				path = path[:strings.LastIndexByte(path, '/')+1] + "*"
			}
			r.MethodFunc(rt.method, path, func(_ http.ResponseWriter, req *http.Request) {
				if read {
					for _, n := range names {
						sink += len(chi.URLParam(req, n))
					}
				}
			})
		}
		return nethttp(r, routes)
	}},
	{"mux", func(routes []route, read bool) func() {
		r := http.NewServeMux()
		for _, rt := range routes {
			names := wildcards(rt.path)
			r.HandleFunc(rt.method+" "+rt.path, func(_ http.ResponseWriter, req *http.Request) {
				if read {
					for _, n := range names {
						sink += len(req.PathValue(n))
					}
				}
			})
		}
		return nethttp(r, routes)
	}},
	{"fasthttp-router", func(routes []route, read bool) func() {
		r := fastrouter.New()
		for _, rt := range routes {
			names := wildcards(rt.path)
			r.Handle(rt.method, strings.ReplaceAll(rt.path, "...}", ":*}"), func(ctx *fasthttp.RequestCtx) {
				if read {
					for _, n := range names {
						s, _ := ctx.UserValue(n).(string)
						sink += len(s)
					}
				}
			})
		}
		var ctxs []*fasthttp.RequestCtx
		for _, rt := range routes {
			var req fasthttp.Request
			req.Header.SetMethod(rt.method)
			req.SetRequestURI(target(rt.path))
			ctx := &fasthttp.RequestCtx{}
			ctx.Init(&req, nil, nil)
			ctxs = append(ctxs, ctx)
		}
		return func() {
			for _, ctx := range ctxs {
				r.Handler(ctx)
			}
		}
	}},
}

// build builds a router, nil if it refuses the routes.
func build(f func([]route, bool) func(), routes []route, read bool) (run func()) {
	defer func() {
		if recover() != nil {
			run = nil
		}
	}()
	return f(routes, read)
}

var order = []string{"static", "parse", "gplus", "github", "param1", "param5", "param20", "read20"}

func BenchmarkTable(b *testing.B) {
	all := tables(b)
	for _, name := range order {
		routes := all[name]
		if routes == nil {
			continue
		}
		for _, p := range peers {
			b.Run(name+"/"+p.name, func(b *testing.B) {
				run := build(p.build, routes, name == "read20")
				if run == nil {
					b.Skip("it refuses other routes")
				}
				run()
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// TestPeersAgree proves that all peers run the handlers of all routes, with the same values.
func TestPeersAgree(t *testing.T) {
	all := tables(t)
	for _, name := range order {
		want := -1
		for _, p := range peers {
			run := build(p.build, all[name], true)
			if run == nil {
				t.Logf("%s refuses %s", p.name, name)
				continue
			}
			sink = 0
			if run(); want < 0 {
				want = sink
			}
			if sink != want {
				t.Errorf("%s: %s reads %d bytes of values, and %s %d", name, p.name, sink, peers[0].name, want)
			}
		}
	}
}
