package router_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// request returns a context for a request.
func request(method, host, target string) *gale.RequestCtx {
	var req gale.Request
	req.Header.SetMethod(method)
	req.Header.SetHost(host)
	req.Header.SetRequestURI(target)
	ctx := &gale.RequestCtx{}
	ctx.Init(&req, nil, nil)
	return ctx
}

// serve runs a request through r and returns its context.
func serve(r *router.Router, method, target string) *gale.RequestCtx {
	ctx := request(method, "example.com", target)
	r.Handler()(ctx)
	return ctx
}

// show is a handler that writes what it knows about the route.
func show(names ...string) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s", ctx.Pattern(), ctx.Path())
		for _, n := range names {
			if fmt.Sprint(ctx.UserValue(n)) != ctx.PathValue(n) || string(ctx.PeekPathValue(n)) != ctx.PathValue(n) {
				fmt.Fprintf(ctx, " UserValue is %q", ctx.UserValue(n))
			}
			fmt.Fprintf(ctx, " %s=%q", n, ctx.PathValue(n))
		}
	}
}

func answer(ctx *gale.RequestCtx) string {
	s := fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Body()))
	for _, h := range []string{"Location", "Allow"} {
		if v := ctx.Response.Header.Peek(h); len(v) > 0 {
			s = fmt.Sprint(ctx.Response.StatusCode(), " ", string(v))
		}
	}
	return s
}

// TestMatches proves what http.ServeMux can't show: affixes, hosts, groups, mounts, and the path that
// handlers see.
func TestMatches(t *testing.T) {
	r := router.New()
	r.GET("/{name}.json", show("name"))
	r.GET("/{name}.min.json", show("name"))
	r.GET("/v{version}/x", show("version"))
	r.GET("/v1/x", show())
	r.GET("/v{version}/{y}", show("version", "y"))
	r.GET("/i/{id}", show("id"))
	r.GET("/q%3F/{id}", show("id"))
	r.GET("/z%00/{id}", show("id"))
	r.Handle("{tenant}.example.org/t/{id}", show("tenant", "id"))
	r.Handle("www.example.org/t/{id}", show("tenant", "id"))
	v1 := r.Group("/api/v1")
	v1.GET("/items/{id}", show("id"))
	v1.GET("", show())
	v1.Group("").Group("/deep/").POST("/{x...}", show("x"))
	tenant := r.Group("{a}.example.net/z")
	tenant.GET("/q", show("a"))
	v1.Mount("/raw/", show())
	inner := router.New()
	inner.GET("/things/{id}", show("id", "shop"))
	inner.GET("/tree/", show())
	r.Mount("/shops/{shop}", inner.Handler())
	for _, row := range []struct{ method, host, target, want string }{
		{"GET", "", "/a.json", `200 /{name}.json /a.json name="a"`},
		{"GET", "", "/a.b.min.json", `200 /{name}.min.json /a.b.min.json name="a.b"`},
		{"GET", "", "/.min.json", `200 /{name}.json /.min.json name=".min"`},
		{"GET", "", "/.json", `404 Not Found`},
		{"GET", "", "/a%2Fb.json", `200 /{name}.json /a%2Fb.json name="a/b"`},
		{"GET", "", "/a.jso%6E", `200 /{name}.json /a.json name="a"`},
		{"GET", "", "/v1/x", `200 /v1/x /v1/x`},
		{"GET", "", "/v12/x", `200 /v{version}/x /v12/x version="12"`},
		{"GET", "", "/v/x", `404 Not Found`},
		{"GET", "", "/v1/z", `200 /v{version}/{y} /v1/z version="1" y="z"`},
		{"HEAD", "", "/i/7?x", `200 /i/{id} /i/7 id="7"`},
		{"GET", "", "/i/a%5Cb", `200 /i/{id} /i/a%5Cb id="a\\b"`},
		{"GET", "", `/i/a\b`, `200 /i/{id} /i/a%5Cb id="a\\b"`},
		{"GET", "", "/i/%252Fb%25", `200 /i/{id} /i/%252Fb% id="%2Fb%"`},
		{"GET", "", "/i/%25252Fb", `200 /i/{id} /i/%25252Fb id="%252Fb"`},
		{"GET", "", "/i/%252fb", `200 /i/{id} /i/%252fb id="%2fb"`},
		{"GET", "", "/i/%2fb", `200 /i/{id} /i/%2Fb id="/b"`},
		{"GET", "", "/i/%%32F", `200 /i/{id} /i/%252F id="%2F"`},
		{"GET", "", "/i/a%3Fb?c/d", `200 /i/{id} /i/a?b id="a?b"`},
		{"GET", "", "/i/?c", `404 Not Found`},
		{"GET", "", "/q%3f/7?", `200 /q%3F/{id} /q?/7 id="7"`},
		{"GET", "", "/q?/7", `404 Not Found`},
		{"GET", "", "/z%00/%00", "200 /z%00/{id} /z\x00/\x00 id=\"\\x00\""},
		{"GET", "", "/i/x#/y", `200 /i/{id} /i/x id="x"`},
		{"GET", "", "/i/%2e%2e", `404 Not Found`},
		{"GET", "", "/i/a%2F..", `404 Not Found`},
		{"GET", "", `/i/..\x`, `404 Not Found`},
		{"GET", "", "/i/..x", `200 /i/{id} /i/..x id="..x"`},
		{"GET", "a.example.org", "/t/1", `200 {tenant}.example.org/t/{id} /t/1 tenant="a" id="1"`},
		{"GET", "A.Example.org:80", "/t/1%20", `200 {tenant}.example.org/t/{id} /t/1  tenant="a" id="1 "`},
		{"GET", "www.example.org", "/t/1", `200 www.example.org/t/{id} /t/1 UserValue is %!q(<nil>) tenant="" id="1"`},
		{"GET", "a.b.example.org", "/t/1", `404 Not Found`},
		{"GET", "", "/api/v1/items/7", `200 /api/v1/items/{id} /api/v1/items/7 id="7"`},
		{"GET", "", "/api/v1", `200 /api/v1 /api/v1`},
		{"POST", "", "/api/v1/deep/a/b", `200 /api/v1/deep/{x...} /api/v1/deep/a/b x="a/b"`},
		{"GET", "b.example.net", "/z/q", `200 {a}.example.net/z/q /z/q a="b"`},
		{"PUT", "", "/api/v1/raw/a/b%2Fc?d=e", `200 /api/v1/raw/ /a/b%2Fc`},
		{"PUT", "", "/api/v1/raw/", `200 /api/v1/raw/ /`},
		{"PUT", "", "/api/v1/raw", `307 /api/v1/raw/`},
		{"GET", "", "/shops/a%20b/things/9", `200 /shops/{shop}/things/{id} /things/9 id="9" shop="a b"`},
		{"GET", "", "/shops/a%20b/tree?x", `307 /shops/a%20b/tree/?x`},
		{"POST", "", "/shops/a/things/9", `405 GET, HEAD, OPTIONS`},
		{"OPTIONS", "", "/i/7", `204 GET, HEAD, OPTIONS`},
		{"OPTIONS", "", "*", `204 DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY`},
		{"CONNECT", "", "example.com:80", `404 Not Found`},
		{"GET", "", "//evil.example/i/7", `307 /evil.example/i/7`},
		{"GET", "", `/\evil.example/..//`, `307 /`},
		{"PUT", "", `/api/v1/raw/../../../\evil/..//\e`, `307 /%5Ce`},
	} {
		ctx := request(row.method, row.host, row.target)
		r.Handler()(ctx)
		if got := answer(ctx); got != row.want {
			t.Errorf("%s %s%s:\n got %s\nwant %s", row.method, row.host, row.target, got, row.want)
		}
		if again := string(ctx.Request.Header.RequestURI()); again != row.target {
			t.Errorf("%s is %s afterwards", row.target, again)
		}
		if ctx.Response.StatusCode() >= 300 && ctx.Pattern() != "" && !strings.HasPrefix(row.target, "/shops") {
			t.Errorf("%s: the pattern of no route is %q", row.target, ctx.Pattern())
		}
	}
}

// TestLengths proves that texts and values of all lengths are found, also where a query follows: the search
// looks at 8 bytes at a time.
func TestLengths(t *testing.T) {
	text := "abcdefghijklmnopqrstuvwxyz"
	r := router.New()
	for n := range 20 {
		r.GET("/x"+text[:n]+"/{v}/"+text[n:], show("v"))
	}
	for n := range 20 {
		for long := range 20 {
			value := strings.ToUpper(text[:long])
			path := "/x" + text[:n] + "/" + value + "/" + text[n:]
			for _, query := range []string{"", "?", "?v=/x", "?%"} {
				want := fmt.Sprintf("200 /x%s/{v}/%s %s v=%q", text[:n], text[n:], path, value)
				if long == 0 {
					want = "307 /x" + text[:n] + "/" + text[n:] + strings.TrimSuffix(query, "?")
				}
				if got := answer(serve(r, "GET", path+query)); got != want {
					t.Errorf("%s: got %s, want %s", path+query, got, want)
				}
				short := path[:len(path)-1] + query
				if got := answer(serve(r, "GET", short)); long > 0 && got != "404 Not Found" {
					t.Errorf("%s: got %s", short, got)
				}
			}
		}
	}
}

// TestPathOfProgram proves that a path that the program sets has neither a query nor a fragment: bytes that begin
// one, and NUL, are matched as if they were encoded.
func TestPathOfProgram(t *testing.T) {
	show := func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %q %q", ctx.Pattern(), ctx.Path(), ctx.PathValue("x"))
	}
	r := router.New()
	r.GET("/i/{x}", show)
	r.GET("/i/a", show)
	r.GET("/i/a%23c", show)
	r.GET("/i/a%00c", show)
	r.Mount("/m", show)
	for path, want := range map[string]string{
		"/i/a?b":     `/i/{x} "/i/a?b" "a?b"`,
		"/i/a#b":     `/i/{x} "/i/a#b" "a#b"`,
		"/i/a#c":     `/i/a%23c "/i/a#c" ""`,
		"/i/a%23b":   `/i/{x} "/i/a#b" "a#b"`,
		"/i/a\x00b":  `/i/{x} "/i/a\x00b" "a\x00b"`,
		"/i/a\x00c":  `/i/a%00c "/i/a\x00c" ""`,
		"/m/a#?\x00": `/m/ "/a#?\x00" ""`,
	} {
		ctx := request("GET", "", "/x?y#z")
		ctx.URI().SetPath(path)
		if r.Handler()(ctx); answer(ctx) != "200 "+want {
			t.Errorf("%q: got %s, want 200 %s", path, answer(ctx), want)
		}
	}
}

// TestPathIsRestored proves that middlewares around a mount see the whole path afterwards.
func TestPathIsRestored(t *testing.T) {
	r := router.New()
	after := ""
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			before := string(ctx.Path())
			defer func() { after = before + " " + string(ctx.Path()) + " " + ctx.Pattern(); _ = recover() }()
			next(ctx)
		}
	})
	inner := router.New()
	inner.GET("/ok/{x}", show("x"))
	inner.GET("/panic", func(*gale.RequestCtx) { panic("as it should") })
	inner.GET("/same", func(ctx *gale.RequestCtx) { ctx.Request.SetRequestURI("/same"); ctx.Path() })
	inner.GET("/set", func(ctx *gale.RequestCtx) { ctx.URI().SetPath("/other") })
	r.Mount("/in", inner.Handler())
	r.Mount("/two", func(ctx *gale.RequestCtx) { inner.Handler()(ctx); router.New().Handler()(ctx) })
	for target, want := range map[string]string{
		"/in/ok/1":  "/in/ok/1 /in/ok/1 /in/ok/{x}",
		"/in/panic": "/in/panic /in/panic /in/panic",
		"/in/set":   "/in/set /other /in/set",
		"/in/none":  "/in/none /in/none ",
		"/in/same":  "/in/same /in/same /in/same",
		"/two/ok/1": "/two/ok/1 /two/ok/1 ",
	} {
		if serve(r, "GET", target); after != want {
			t.Errorf("%s: got %q, want %q", target, after, want)
		}
	}
}

// TestWays proves what the settings do.
func TestWays(t *testing.T) {
	for _, row := range []struct {
		slash, unclean router.Way
		target, want   string
	}{
		{router.RedirectPermanent, router.Redirect, "/tree?a", "308 /tree/?a"},
		{router.Redirect, router.RedirectPermanent, "/a//b", "308 /a/b"},
		{router.Redirect, router.RedirectPermanent, "//tree", "307 /tree/"},
		{router.Serve, router.Redirect, "/tree", "200 /tree/ /tree/"},
		{router.Serve, router.Redirect, "/t%72ee", "200 /tree/ /tree/"},
		{router.Serve, router.Serve, "/./tree", "200 /tree/ /tree/"},
		{router.Serve, router.Serve, "/x/../a//%2Fb", "200 /a/{x} /a/%2Fb"},
		{router.Serve, router.Serve, "/a/%2e%2e", "404 Not Found"},
		{router.Refuse, router.Refuse, "/tree", "404 Not Found"},
		{router.Refuse, router.Refuse, "/tree/", "200 /tree/ /tree/"},
		{router.Refuse, router.Refuse, "/a//b", "404 Not Found"},
		{router.Redirect, router.Refuse, "//tree", "404 Not Found"},
	} {
		r := router.New()
		r.TrailingSlash, r.UncleanPath = row.slash, row.unclean
		r.Any("/tree/", show())
		r.Any("/a/{x}", show())
		if got := answer(serve(r, "GET", row.target)); got != row.want {
			t.Errorf("%d %d %s: got %q, want %q", row.slash, row.unclean, row.target, got, row.want)
		}
	}
}

// TestMethods proves which methods a router answers by itself, and that this can be switched off.
func TestMethods(t *testing.T) {
	for _, off := range []bool{false, true} {
		r := router.New()
		r.NoHEAD, r.NoOPTIONS = off, off
		for method, register := range map[string]func(string, gale.RequestHandler) *router.Route{
			"GET": r.GET, "POST": r.POST, "PUT": r.PUT, "PATCH": r.PATCH, "DELETE": r.DELETE, "TRACE": r.TRACE, "QUERY": r.QUERY,
		} {
			register("/all", show())
			if got := answer(serve(oneRoute(method), method, "/x")); got != "200 /x /x" {
				t.Errorf("%s: %s", method, got)
			}
		}
		r.Handle("X /all", show())
		want := map[string]string{
			"HEAD": "200 /all /all", "OPTIONS": "204 DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY, TRACE, X",
			"Y": "405 DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY, TRACE, X", "X": "200 /all /all",
		}
		if off {
			want["OPTIONS"] = "405 DELETE, GET, PATCH, POST, PUT, QUERY, TRACE, X"
			want["HEAD"], want["Y"] = want["OPTIONS"], want["OPTIONS"]
		}
		for method, want := range want {
			if got := answer(serve(r, method, "/all")); got != want {
				t.Errorf("off is %v, %s: got %q, want %q", off, method, got, want)
			}
		}
	}
}

func oneRoute(method string) *router.Router {
	r := router.New()
	r.Handle(method+" /x", show())
	return r
}

// TestMiddlewares proves their order, and for which requests they run.
func TestMiddlewares(t *testing.T) {
	r := router.New()
	made := 0
	mark := func(name string) router.Middleware {
		return func(next gale.RequestHandler) gale.RequestHandler {
			made++
			return func(ctx *gale.RequestCtx) {
				fmt.Fprintf(ctx, "%s(%s) ", name, ctx.Pattern())
				next(ctx)
			}
		}
	}
	g := r.Group("/g", mark("b"))
	g.GET("/x", func(ctx *gale.RequestCtx) { ctx.WriteString("x") })
	in := g.Group("/in", mark("d"))
	in.GET("/y", func(ctx *gale.RequestCtx) { ctx.WriteString("y") })
	g.Use(mark("c"))
	r.Use(mark("a"))
	r.NotFound = func(ctx *gale.RequestCtx) { ctx.WriteString("none") }
	r.MethodNotAllowed = func(ctx *gale.RequestCtx) { ctx.WriteString("not so") }
	for _, row := range []struct{ method, target, want string }{
		{"GET", "/g/x", "a(/g/x) b(/g/x) c(/g/x) x"},
		{"GET", "/g/in/y", "a(/g/in/y) b(/g/in/y) c(/g/in/y) d(/g/in/y) y"},
		{"GET", "/g/z", "a() none"},
		{"POST", "/g/x", "a() not so"},
	} {
		if got := string(serve(r, row.method, row.target).Response.Body()); got != row.want {
			t.Errorf("%s: got %q, want %q", row.target, got, row.want)
		}
	}
	if made != 3+4+1 {
		t.Errorf("middlewares were made %d times: it should be once for each route, and once for what no route matches", made)
	}
	if got := fmt.Sprint(r.Routes()); !strings.Contains(got, "GET     /g/in/y") {
		t.Errorf("the table is\n%s", got)
	}
	for name, f := range map[string]func(){
		"Handle": func() { r.GET("/late", show()) }, "Use": func() { r.Use(mark("late")) },
		"Name": func() { router.New().GET("/", show()).Name("x"); r.Routes(); g.Use() },
	} {
		if !panics(f) {
			t.Errorf("%s doesn't panic after the router has begun to serve", name)
		}
	}
}

// TestRouterIsAsked proves what a function that Use was given may do with the router when that begins to
// serve: ask it for its routes, and not register one.
func TestRouterIsAsked(t *testing.T) {
	r := router.New()
	r.GET("/x", show()).Name("x")
	said, table := "", ""
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		to, _ := r.URL("x")
		table = to + " " + r.Routes()[0].Pattern + " " + r.Explain("GET", "", "/x").Pattern
		said = message(func() { r.GET("/late", show()) })
		return next
	})
	if got := answer(serve(r, "GET", "/x")); got != "200 /x /x" || table != "/x /x GET /x" {
		t.Errorf("got %q, and the router says %q", got, table)
	}
	if !strings.Contains(said, "Handle is called after the router has begun to serve") {
		t.Errorf("registering a route then: %s", said)
	}
	fails := true
	r = router.New()
	r.GET("/x", show())
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		if fails {
			panic("as it should")
		}
		return next
	})
	if !panics(func() { serve(r, "GET", "/x") }) {
		t.Error("a function that panics is not heard")
	}
	fails = false
	if got := answer(serve(r, "GET", "/x")); got != "200 /x /x" {
		t.Errorf("after a function has panicked: %q", got)
	}
}

// TestMiddlewareReturnsNil proves that the panic says which middleware it is, and where it was registered. It is the same
// at the next request, and goroutines that wait for the router go on.
func TestMiddlewareReturnsNil(t *testing.T) {
	null := func(gale.RequestHandler) gale.RequestHandler { return nil }
	same := func(next gale.RequestHandler) gale.RequestHandler { return next }
	want := regexp.MustCompile(`router_test\.TestMiddlewareReturnsNil\.func1 \(registered at .*router_test\.go:\d+.*\) has returned nil`)
	for name, register := range map[string]func(r *router.Router){
		"Use":             func(r *router.Router) { r.Use(null) },
		"one of two":      func(r *router.Router) { r.Use(same, null) },
		"Group":           func(r *router.Router) { r.Group("/g", null).GET("/x", show()) },
		"Use of a group":  func(r *router.Router) { g := r.Group("/g"); g.GET("/x", show()); g.Use(null) },
		"with a fallback": func(r *router.Router) { r.Group("", null).Fallback("/{x?}", show()) },
	} {
		r := router.New()
		r.GET("/x", show())
		register(r)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 2 {
					if got := message(func() { serve(r, "GET", "/x") }); !want.MatchString(got) {
						t.Errorf("%s: the panic is %q", name, got)
					}
				}
			})
		}
		wg.Wait()
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func message(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// TestMalformed proves that a malformed pattern panics with the pattern, the offset and the call site.
func TestMalformed(t *testing.T) {
	for pattern, offset := range map[string]int{
		"": 0, "GET": 0, "a": 0, "GET  x": 5, "M@ /x": 0, "/{": 1, "/a/{}": 3, "/{x}/{x}": 5, "/{$}/a": 1, "/{x...}/a": 1, "/{1x}": 1,
		"/a{x...}": 1, "/{$}x": 1, "/{x}{y}": 1, "/{x-y}": 1, "/{x:int}": 1, "{h}/": 0, "a.{h/x": 2, "a{h}.b/": 0, "{x}.b/{x}": 6, "/{x}y}": 1,
		"GET POST /x": 4, "GET POST\t/x": 4, "example.com:80/b": 0, "GET {x}.b:80/b": 4, "[::1]:80/": 0, "GET h/a/../b": 5, "GET /./b": 4, "X //": 2,
	} {
		got := message(func() { router.New().Handle(pattern, show()) })
		if !strings.Contains(got, fmt.Sprintf("parsing %q: at offset %d: ", pattern, offset)) || !strings.Contains(got, "router_test.go:") {
			t.Errorf("%q: %s", pattern, got)
		}
	}
	for _, pattern := range []string{"/a/../b", "CONNECT /./b", "//", "GET /.../b", "GET /a/%2e/b", "[::1]/", "GET [::1]/a/", " /x", "\t h/x"} {
		if got := message(func() { router.New().Handle(pattern, show()) }); got != "<nil>" {
			t.Errorf("%q: %s", pattern, got)
		}
	}
	if got := message(func() { router.New().GET("/", nil) }); !strings.Contains(got, "router_test.go:") {
		t.Errorf("a handler that is nil: %s", got)
	}
}

// TestConflicts proves which patterns conflict, and that the message names a request that both match, and patterns that
// don't conflict instead of these.
func TestConflicts(t *testing.T) {
	for _, row := range []struct {
		a, b     string
		conflict bool
	}{
		{"/{a}", "/{b}", true}, {"/{a}/b", "/a/{b}", true}, {"GET /{a}", "/a", true}, {"GET /a", "/{a}", false}, {"GET /", "HEAD /x", false},
		{"GET /x", "HEAD /{x}", true}, {"/{a}.json", "/v{b}", true}, {"/{a}.json", "/{b}.json", true}, {"/{a}.json", "/{b}.min.json", false},
		{"/{a}.json", "/a.json", false}, {"/v{a}", "/{a}", false}, {"/v{a}.x", "/v{b}", false}, {"/v{a}/x", "/{a}/{b}", false}, {"/v{a}/{x}", "/{a}/y", true},
		{"/a{x}", "/b{x}", false}, {"/ab{x}c", "/a{x}bc", true}, {"/{x...}", "/a/", false}, {"/{x}/", "/a/{y...}", false}, {"/{x}/{$}", "/a/", true},
		{"{a}.b/x", "b.{a}/x", true}, {"{a}.b/x", "b.{a}/y", false}, {"{a}.b/x", "c.b/{x}", false}, {"{a}.b/{x}", "c.b/x", false}, {"GET {a}.b/x", "b.{a}/x", true}, {"GET {a}.b/x", "b.{a}/{x}", true}, {"A.b/x", "a.B/x", true},
		{"{a}.b/x", "/{x}", false}, {"POST {a}.b/x", "GET b.{a}/x", false}, {"/a%2Fb", "/a/b", false}, {"/%61", "/a", true}, {"/a\\b", "/a%5cb", true},
	} {
		r := router.New()
		r.Handle(row.a, show())
		got := message(func() { r.Handle(row.b, show()) })
		if (got != "<nil>") != row.conflict {
			t.Errorf("%q and %q: %s", row.a, row.b, got)
			continue
		}
		other := router.New()
		other.Handle(row.b, show())
		if panics(func() { other.Handle(row.a, show()) }) != row.conflict {
			t.Errorf("%q and %q: the order matters", row.a, row.b)
		}
		if !row.conflict {
			continue
		}
		if strings.Count(got, "router_test.go:") != 2 || !strings.Contains(got, "To mend it") {
			t.Errorf("%q and %q: %s", row.a, row.b, got)
		}
		match := regexp.MustCompile(`match(?: the same requests, like)? "(?:([A-Z]+) )?([^"/]*)(/[^"]*)"`).FindStringSubmatch(got)
		if match == nil {
			t.Errorf("%q and %q: no path in %s", row.a, row.b, got)
			continue
		}
		for _, p := range []string{row.a, row.b} {
			one := router.New()
			one.Handle(p, show())
			method := match[1]
			if method == "" {
				method = "GET"
			}
			if e := one.Explain(method, match[2], match[3]); e.Route == nil {
				t.Errorf("%q and %q: the second doesn't match %q: %s", row.a, row.b, match[1:], e)
			}
		}
		for _, advice := range regexp.MustCompile(`"([^"]*)" instead of "([^"]*)"`).FindAllStringSubmatch(got, -1) {
			kept := row.a
			if advice[2] == row.a {
				kept = row.b
			}
			r := router.New()
			r.Handle(kept, show())
			if panics(func() { r.Handle(advice[1], show()) }) {
				t.Errorf("%q and %q: %q instead of the second conflicts, too", kept, advice[2], advice[1])
			}
		}
	}
}

// TestConflictsOfNever proves that a conflict with a pattern that never matches says so, and names no path.
func TestConflictsOfNever(t *testing.T) {
	for _, row := range []struct{ a, b, never string }{
		{"/a/../b", "/a/../b", "/a/../b"}, {"//{x}", "//{y}", "//{y}"}, {"/./{x}", "/{y}/b", "/./{x}"}, {"/{x}/b", "/../{y}", "/../{y}"},
	} {
		r := router.New()
		r.Handle(row.a, show())
		got := message(func() { r.Handle(row.b, show()) })
		if !strings.Contains(got, fmt.Sprintf("%q never matches", row.never)) || strings.Contains(got, "like") || strings.Contains(got, "both match") || !strings.Contains(got, "To mend it") {
			t.Errorf("%q and %q: %s", row.a, row.b, got)
		}
	}
}

// TestURL proves that the URL of a route leads to it, with the same values.
func TestURL(t *testing.T) {
	r := router.New()
	for _, p := range []string{"/a/{x}", "/f/{x...}", "/{x}.json/{y}", "/end/{$}", "{x}.example.com/h/{y}", "/mounted/", "//evil/{x}", "/b/../{x}", "/n//{x...}", " /s p/{x}"} {
		r.Handle(p, show("x", "y")).Name(p)
	}
	for _, row := range []struct {
		name   string
		values []string
		want   string
	}{
		{"/a/{x}", []string{"a/b c?#%ü"}, "/a/a%2Fb%20c%3F%23%25%C3%BC"}, {"/f/{x...}", []string{"a/b c"}, "/f/a/b%20c"}, {"/f/{x...}", []string{""}, "/f/"},
		{"/{x}.json/{y}", []string{"1", "2"}, "/1.json/2"}, {"/end/{$}", nil, "/end/"}, {"{x}.example.com/h/{y}", []string{"t", "1"}, "//t.example.com/h/1"},
		{"/mounted/", nil, "/mounted/"}, {"/a/{x}", nil, ""}, {"/a/{x}", []string{"1", "2"}, ""}, {"/a/{x}", []string{""}, ""}, {"/a/{x}", []string{".."}, ""},
		{"/a/{x}", []string{`a\.`}, ""}, {"/f/{x...}", []string{"a//b"}, ""}, {"/f/{x...}", []string{"a/../b"}, ""}, {"{x}.example.com/h/{y}", []string{"a.b", "1"}, ""},
		{" /s p/{x}", []string{"1"}, "/s%20p/1"}, {"none", nil, ""}, {"//evil/{x}", []string{"1"}, ""}, {"/b/../{x}", []string{"1"}, ""}, {"/n//{x...}", []string{"1"}, ""},
		{"/f/{x...}", []string{"/evil"}, ""},
	} {
		got, err := r.URL(row.name, row.values...)
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%s %q: %q, %v", row.name, row.values, got, err)
		}
		if err != nil && !errors.Is(err, router.ErrURLValues) && !errors.Is(err, router.ErrNoRoute) {
			t.Errorf("%s %q: %v is no error of URL", row.name, row.values, err)
		}
		if err != nil || got[1] == '/' {
			continue
		}
		ctx := serve(r, "GET", got)
		for i, n := range []string{"x", "y"}[:len(row.values)] {
			if ctx.Pattern() != strings.TrimLeft(row.name, " ") || ctx.PathValue(n) != row.values[i] {
				t.Errorf("%s leads to %q, where %s is %q", got, ctx.Pattern(), n, ctx.PathValue(n))
			}
		}
	}
	if got := message(func() { router.New().GET("/empty", show()).Name("") }); !strings.Contains(got, `the name of "GET /empty" (registered at `) {
		t.Error("an empty name:", got)
	}
	if !panics(func() { newNamed(); two := newNamed(); two.GET("/b", show()).Name("x") }) {
		t.Error("two routes may have one name")
	}
}

func newNamed() *router.Router {
	r := router.New()
	r.GET("/a", show()).Name("x")
	return r
}

// TestErr proves that errors of handlers become responses.
func TestErr(t *testing.T) {
	r := router.New()
	r.GET("/ok", router.Err(func(ctx *gale.RequestCtx) error { ctx.WriteString("ok"); return nil }))
	r.GET("/large", router.Err(func(*gale.RequestCtx) error { return fmt.Errorf("no: %w", gale.ErrBodyTooLarge) }))
	r.GET("/plain", router.Err(func(*gale.RequestCtx) error { return errors.New("as the client reads it") }))
	r.GET("/own", router.Err(func(*gale.RequestCtx) error {
		return &gale.HandlerError{Status: gale.StatusInternalServerError, Err: errors.New("as the log has it")}
	}))
	for target, want := range map[string]string{
		"/ok": "200 ok", "/large": "413 no: " + gale.ErrBodyTooLarge.Error(), "/plain": "400 as the client reads it", "/own": "500 Internal Server Error",
	} {
		if got := answer(serve(r, "GET", target)); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// TestFilesInMount proves that no encoded slash reaches the file system, and that other names do, and that a folder is
// redirected to its path with the prefix.
func TestFilesInMount(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal("making a folder:", err)
	}
	for _, name := range []string{"d/f", "a b", "x%2Fy", "x%252Fy", "d%2Ff"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(name), 0o600); err != nil {
			t.Fatal("writing a file:", err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "e%2Fe"), 0o700); err != nil {
		t.Fatal("making a folder:", err)
	}
	files, in := (&gale.FS{Root: dir}).NewRequestHandler(), router.New()
	in.Mount("/t", files)
	r := router.New()
	r.Mount("/s", files)
	r.Mount("/u/{x}", in.Handler())
	r.GET("/d", files)
	for target, want := range map[string]string{
		"/s/d/f": "200 d/f", "/s/a%20b": "200 a b", "/s/d%2Ff": "404 ", "/s/d%2ff": "404 ", "/s/x%252Fy": "200 x%2Fy", "/s/x%25252Fy": "200 x%252Fy", "/s/d/f%00": "404 ", "/s/d/%2e%2e/d/f": "404 ",
		"/s/d": "302 /s/d/", "/s/d?a=%2F": "302 /s/d/?a=%2F", "/s/e%252Fe": "302 /s/e%252Fe/", "/u/a%20%2Fb/t/d": "302 /u/a%20%2Fb/t/d/",
		`/u/\e/t/d`: "302 /u/%5Ce/t/d/", "/d": "302 /d/",
	} {
		ctx := serve(r, "GET", target)
		got := fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Header.Peek("Location")))
		if ctx.Response.StatusCode() == 200 {
			got += string(ctx.Response.Body())
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

// TestSetPathValue proves that values that were set come before those of the route.
func TestSetPathValue(t *testing.T) {
	r := router.New()
	r.GET("/{x}/{y}", func(ctx *gale.RequestCtx) {
		x := ctx.PeekPathValue("x")
		ctx.SetPathValue("x", "set")
		ctx.SetPathValue("z", "new")
		ctx.SetPathValue("x", "again")
		fmt.Fprintf(ctx, "%s %s %s %s %q %v", x, ctx.PathValue("x"), ctx.PathValue("y"), ctx.UserValueBytes([]byte("z")), ctx.PathValue(""), ctx.UserValue("none"))
	})
	if got := string(serve(r, "GET", "/1/2").Response.Body()); got != `1 again 2 new "" <nil>` {
		t.Error(got)
	}
}

// TestFallbackIsForSearchedPath proves that a router answers for the request that it has looked at, also if a
// middleware has changed that meanwhile: Allow never has the method of the request.
func TestFallbackIsForSearchedPath(t *testing.T) {
	r := router.New()
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			if ctx.Pattern() == "" && ctx.IsPut() {
				ctx.Request.Header.SetMethod("GET")
			}
			if ctx.Pattern() == "" {
				ctx.SetPathValue("x", "set")
				ctx.URI().SetPath("/get")
			}
			next(ctx)
		}
	})
	r.GET("/get", show())
	r.POST("/post", show())
	inner := router.New()
	inner.POST("/post", show())
	r.Mount("/in", inner.Handler())
	for _, row := range []struct{ method, target, want string }{
		{"GET", "/post", "405 OPTIONS, POST"}, {"GET", "/none", "404 Not Found"}, {"GET", "/%70ost?x", "405 OPTIONS, POST"},
		{"OPTIONS", "/post", "204 OPTIONS, POST"}, {"PUT", "/get", "404 Not Found"}, {"GET", "/in/post", "405 OPTIONS, POST"},
		{"GET", "//post", "307 /post"},
	} {
		if got := answer(serve(r, row.method, row.target)); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.method, row.target, got, row.want)
		}
	}
}

// TestFallbackAfterAnother proves that a router answers for its own request also if a middleware has called another
// router before, in which nothing was found for another path, as in a mount.
func TestFallbackAfterAnother(t *testing.T) {
	inner := router.New()
	inner.GET("/panic/", func(*gale.RequestCtx) {})
	inner.NotFound = func(ctx *gale.RequestCtx) {
		if ctx.IsDelete() {
			panic("as it should")
		}
	}
	other := router.New()
	other.Mount("/api", inner.Handler())
	r := router.New()
	r.Use(func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			if ctx.Pattern() == "" {
				func() {
					defer func() { _ = recover() }()
					other.Handler()(ctx)
				}()
				ctx.Response.Reset()
			}
			next(ctx)
		}
	})
	r.GET("/api/tree/", show())
	outer := router.New()
	outer.Mount("/out", r.Handler())
	for _, row := range []struct{ method, target, want string }{
		{"GET", "/api/tree/", "200 /api/tree/ /api/tree/"}, {"GET", "/api/tree", "307 /api/tree/"}, {"POST", "/api/tree/", "405 GET, HEAD, OPTIONS"},
		{"OPTIONS", "/api/tree/", "204 GET, HEAD, OPTIONS"}, {"DELETE", "/api/tree/", "405 GET, HEAD, OPTIONS"}, {"GET", "/api/none", "404 Not Found"},
		{"GET", "/none", "404 Not Found"},
	} {
		if got := answer(serve(r, row.method, row.target)); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.method, row.target, got, row.want)
		}
		s := attached(t, r)
		ctx := request(row.method, "example.com", row.target)
		s.RequestStarted(ctx)
		if s.Handler(ctx); answer(ctx) != row.want {
			t.Errorf("attached, %s %s: got %s, want %s", row.method, row.target, answer(ctx), row.want)
		}
	}
	if got := answer(serve(outer, "GET", "/out/api/tree")); got != "307 /out/api/tree/" {
		t.Errorf("in a mount: got %s", got)
	}
}

// TestSuffixInEscape proves that no suffix matches the inside of an escape.
func TestSuffixInEscape(t *testing.T) {
	r := router.New()
	for _, p := range []string{"/{x}2F", "/{x}5", "/{x}F", "/{x}"} {
		r.GET(p, show("x"))
	}
	for target, want := range map[string]string{
		"/%2F": `200 /{x} /%2F x="/"`, "/%2f": `200 /{x} /%2F x="/"`, "/100%25": `200 /{x} /100% x="100%"`, "/a%2F": `200 /{x} /a%2F x="a/"`,
		"/%255": `200 /{x}5 /%5 x="%"`, "/%252F": `200 /{x}2F /%252F x="%"`, "/%2FF": `200 /{x}F /%2FF x="/"`, "/%2F2F": `200 /{x}2F /%2F2F x="/"`,
	} {
		if got := answer(serve(r, "GET", target)); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

// TestEmptyPath proves that an empty path of an absolute form is "/", and that a target without a path is not.
func TestEmptyPath(t *testing.T) {
	r := router.New()
	r.NoOPTIONS = true
	r.Any("/", show())
	inner := router.New()
	inner.GET("/{$}", show())
	r.Handle("in.example/", inner.Handler())
	for _, row := range []struct{ method, target, want string }{
		{"GET", "http://example.com?q", "200 / /"}, {"GET", "http://example.com", "200 / /"}, {"POST", "http://example.com:80?a/b", "200 / /"},
		{"GET", "http://in.example?q", "200 /{$} /"}, {"GET", "http://example.com/?q", "200 / /"},
		{"OPTIONS", "*", "404 Not Found"}, {"CONNECT", "example.com:80", "404 Not Found"}, {"CONNECT", "example.com", "404 Not Found"},
	} {
		if got := answer(serve(r, row.method, row.target)); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.method, row.target, got, row.want)
		}
	}
	ctx := request("GET", "example.com", "http://example.com?q")
	ctx.URI() // is parsed now
	if r.Handler()(ctx); answer(ctx) != "200 / /" {
		t.Error("with a URI that was parsed:", answer(ctx))
	}
}

// TestConnect proves which routes a CONNECT gets that opens a WebSocket over HTTP/2.
func TestConnect(t *testing.T) {
	r := router.New()
	r.GET("/get", show())
	r.Any("/any", show())
	r.CONNECT("/both", func(ctx *gale.RequestCtx) { ctx.WriteString("connect") })
	r.GET("/both", show())
	r.POST("/post", show())
	for target, want := range map[string]string{
		"/get": "200 /get /get", "/any": "200 /any /any", "/both": "200 connect", "/none": "404 Not Found", "/post": "405 OPTIONS, POST",
	} {
		ctx := request("CONNECT", "example.com", target)
		ctx.Request.SetConnectProtocol("websocket")
		if r.Handler()(ctx); answer(ctx) != want {
			t.Errorf("%s: got %q, want %q", target, answer(ctx), want)
		}
	}
	r = router.New()
	r.Any("/", show())
	r.GET("/ws", show())
	r.GET("/ws/{x}", show())
	r.Any("/ws/{y}", func(ctx *gale.RequestCtx) { ctx.WriteString("any " + ctx.PathValue("y")) })
	r.Any("/same/", func(ctx *gale.RequestCtx) { ctx.WriteString("any") })
	r.GET("/same/{y...}", show())
	r.GET("/c/{x}", show())
	r.CONNECT("/c/", func(ctx *gale.RequestCtx) { ctx.WriteString("connect") })
	r.Any("h.i/x/", show())
	r.GET("h.i/x/y", show())
	r.GET("h.i/z/{x}", show())
	for target, want := range map[string]string{
		"/ws": "200 / /ws", "/ws/1": "200 any 1", "/none": "200 / /none", "/same/z": "200 any", "/c/1": "200 connect",
		"http://h.i/x/y": "200 h.i/x/ /x/y", "http://h.i/x/z": "200 h.i/x/ /x/z", "http://h.i/ws": "200 / /ws",
		"http://h.i/z/1": "200 h.i/z/{x} /z/1",
	} {
		ctx := request("CONNECT", "example.com", strings.TrimPrefix(target, "http://h.i"))
		if strings.HasPrefix(target, "http:") {
			ctx.Request.Header.SetHost("h.i")
		}
		ctx.Request.SetConnectProtocol("websocket")
		if r.Handler()(ctx); answer(ctx) != want {
			t.Errorf("with less specific routes for all methods, %s: got %q, want %q", target, answer(ctx), want)
		}
	}
	r = router.New()
	r.Fallback("GET /get/{x?}", show("x"))
	r.Fallback("GET /all/{x?}", show("x"))
	r.Fallback("/all/{y?:[a-z]+}", func(ctx *gale.RequestCtx) { ctx.WriteString("any " + ctx.PathValue("y")) })
	r.Fallback("CONNECT /get/{z:[0-9]+}", func(ctx *gale.RequestCtx) { ctx.WriteString("connect " + ctx.PathValue("z")) })
	r.Fallback("POST /post/{x?}", show())
	for target, want := range map[string]string{
		"/get/a": `200 /get/{x?} /get/a x="a"`, "/get/1": "200 connect 1", "/all/a": "200 any a", "/all/1": `200 /all/{x?} /all/1 x="1"`,
		"/post/a": "405 OPTIONS, POST", "/none/a": "404 Not Found",
	} {
		ctx := request("CONNECT", "example.com", target)
		ctx.Request.SetConnectProtocol("websocket")
		if r.Handler()(ctx); answer(ctx) != want {
			t.Errorf("with Fallback, %s: got %q, want %q", target, answer(ctx), want)
		}
	}
	r = oneRoute("GET")
	ctx := request("CONNECT", "example.com", "/x")
	if r.Handler()(ctx); ctx.Response.StatusCode() != 405 {
		t.Error("another CONNECT gets a GET route:", answer(ctx))
	}
}

// TestPathsAfterLongerOnes proves that a context that is used again shows nothing of an earlier path.
func TestPathsAfterLongerOnes(t *testing.T) {
	r := router.New()
	r.GET("/a/{x}/bcd", show("x"))
	r.GET("/{x}", show("x"))
	ctx, h := request("GET", "", "/"), r.Handler()
	for _, target := range []string{"/abcdefghijklmno", "/a/123/bcd", "/a/123/bcd?q", "/a/1", "/a/123/bc", "/a/123/b", "/a/123/", "/a/12", "/a", "/abc"} {
		ctx.Request.SetRequestURI(target)
		ctx.Response.Reset()
		h(ctx)
		if got, want := answer(ctx), answer(serve(r, "GET", target)); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}
