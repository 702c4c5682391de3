package router_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/gate"
)

// TestFallback proves what patterns of Fallback match, and what they share with those of Handle: paths, hosts, groups,
// middlewares, redirects, methods. tests/differential compares their order with that of github.com/fasthttp/router.
func TestFallback(t *testing.T) {
	r := router.New()
	r.GET("/native/{x}", show("x"))
	r.GET("/below/", show())
	r.GET("/dir/{$}", show())
	r.Fallback("GET /native/{id:[0-9]+}", show("id"))
	r.Fallback("POST /native/{id:[0-9]+}", show("id"))
	r.Fallback("GET /u/{id:[0-9]+}", show("id"))
	r.Fallback("GET /u/{name:[a-z]+}", show("name"))
	r.Fallback("PUT /u/{rest:*}", show("rest"))
	r.Fallback("GET /o/{a?}/{b?:[0-9]+}", show("a"))
	r.Fallback("/f/{path:*}", show("path"))
	r.Fallback("GET /z/{a}-{b:[0-9/]+}.x", show("a", "b"))
	r.Fallback("GET /slash/", show())
	r.Fallback("GET /v{a}/x{b}", show("a", "b"))
	r.Fallback("GET /e/{x}F", show("x"))
	r.Fallback("GET /dir", show())
	r.Fallback("{t}.example.org/h/{x:[a-z]+}", show("t", "x"))
	r.Fallback("www.example.org/h/{x?}", show())
	g := r.Group("/g/{tenant}", func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { ctx.WriteString("in "); next(ctx) }
	})
	g.Fallback("GET /i/{id:[0-9]+}", show("tenant", "id"))
	g.Fallback("DELETE ", show("tenant"))
	inner := router.New()
	inner.Fallback("GET /things/{id:[0-9]+}", show("id", "shop"))
	inner.Fallback("GET /tree/", show())
	r.Mount("/shops/{shop}", inner.Handler())
	for _, row := range []struct{ method, host, target, want string }{
		{"GET", "", "/native/7", `200 /native/{x} /native/7 x="7"`},
		{"POST", "", "/native/7", `200 /native/{id:[0-9]+} /native/7 id="7"`},
		{"POST", "", "/native/x", `405 GET, HEAD, OPTIONS`},
		{"PUT", "", "/native/7", `405 GET, HEAD, OPTIONS, POST`},
		{"OPTIONS", "", "/native/7", `204 GET, HEAD, OPTIONS, POST`},
		{"GET", "", "/u/7?q=/", `200 /u/{id:[0-9]+} /u/7 id="7"`},
		{"HEAD", "", "/u/ab", `200 /u/{name:[a-z]+} /u/ab name="ab"`},
		{"GET", "", "/u/a7", `405 OPTIONS, PUT`},
		{"PUT", "", "/u/a7/", `200 /u/{rest:*} /u/a7/ rest="a7/"`},
		{"GET", "", "/u/7x", `405 OPTIONS, PUT`},
		{"GET", "", "/u/%37", `200 /u/{id:[0-9]+} /u/7 id="7"`},
		{"POST", "", "/u/ab", `405 GET, HEAD, OPTIONS, PUT`},
		{"GET", "", "/o", `200 /o/{a?}/{b?:[0-9]+} /o UserValue is %!q(<nil>) a=""`},
		{"GET", "", "/o/x", `200 /o/{a?}/{b?:[0-9]+} /o/x a="x"`},
		{"GET", "", "/o/x/7", `200 /o/{a?}/{b?:[0-9]+} /o/x/7 a="x"`},
		{"GET", "", "/o/", `404 Not Found`},
		{"GET", "", "/o/x/y", `404 Not Found`},
		{"X", "", "/f/a/b%2Fc", `200 /f/{path:*} /f/a/b%2Fc path="a/b/c"`},
		{"X", "", "/f/", `200 /f/{path:*} /f/ path=""`},
		{"X", "", "/f", `307 /f/`},
		{"GET", "", "/slash", `307 /slash/`},
		{"GET", "", "/v/x1", `200 /v{a}/x{b} /v/x1 a="" b="1"`},
		{"GET", "", "/v1/x", `404 Not Found`},
		{"GET", "", "/e/a%46", `200 /e/{x}F /e/aF x="a"`},
		{"GET", "", "/e/%2FF", `200 /e/{x}F /e/%2FF x="/"`},
		{"GET", "", "/e/%2F", `404 Not Found`},
		{"GET", "", "/dir", `200 /dir /dir`},
		{"GET", "", "/f//a/../b", `307 /f/b`},
		{"GET", "", "/f/%2e%2e/b", `404 Not Found`},
		{"GET", "", "/f/a%2F../b", `404 Not Found`},
		{"GET", "", `/f/..\b`, `404 Not Found`},
		{"GET", "", "/f/%252F%25", `200 /f/{path:*} /f/%252F% path="%2F%"`},
		{"GET", "", "/z/a%2Fb-1-2%2f3.x", `200 /z/{a}-{b:[0-9/]+}.x /z/a%2Fb-1-2%2F3.x a="a/b-1" b="2/3"`},
		{"GET", "", "/z/-3.x", `200 /z/{a}-{b:[0-9/]+}.x /z/-3.x a="" b="3"`},
		{"GET", "", "/z/a-3ax", `404 Not Found`},
		{"GET", "a.example.org", "/h/b", `200 {t}.example.org/h/{x:[a-z]+} /h/b t="a" x="b"`},
		{"GET", "www.EXAMPLE.org:80", "/h", `200 www.example.org/h/{x?} /h`},
		{"GET", "a.example.org", "/h/7", `404 Not Found`},
		{"GET", "", "/g/t%20/i/7", `200 in /g/{tenant}/i/{id:[0-9]+} /g/t /i/7 tenant="t " id="7"`},
		{"DELETE", "", "/g/t", `200 in /g/{tenant} /g/t tenant="t"`},
		{"GET", "", "/shops/a/things/9", `200 /shops/{shop}/things/{id:[0-9]+} /things/9 id="9" shop="a"`},
		{"GET", "", "/shops/a/tree", `307 /shops/a/tree/`},
		{"OPTIONS", "", "*", `204 DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY`},
		{"CONNECT", "", "example.com:80", `404 Not Found`},
	} {
		ctx := request(row.method, row.host, row.target)
		r.Handler()(ctx)
		if got := answer(ctx); got != row.want {
			t.Errorf("%s %s%s:\n got %s\nwant %s", row.method, row.host, row.target, got, row.want)
		}
		early := request(row.method, row.host, row.target)
		s := attached(t, r)
		_ = s.RequestStarted(early)
		if s.Handler(early); answer(early) != row.want {
			t.Errorf("%s %s%s with Attach: got %s", row.method, row.host, row.target, answer(early))
		}
	}
}

// TestFallbackMalformed proves that a malformed pattern panics with the pattern, the offset and the call site, and
// leaves nothing in the router.
func TestFallbackMalformed(t *testing.T) {
	for pattern, offset := range map[string]int{
		"": 0, "a": 0, "GET": 0, "M@ /x": 0, "GET GET /x": 4, "/{": 1, "/a/{b": 3, "/a}": 2, "/{}": 1, "/{?}": 1, "/{:[a]}": 1, "/{a:}": 4, "/{a:[}": 4,
		"/{a:*?}": 4, "/a/{b:(}": 6, "/{a:x)(y}": 4, `/{a:\Qx}`: 1, "/{a}{b}": 4, "/{a}/{a}": 5, "/{a}-{a}": 5, "{a}.b/{a}": 6, "/a{b:*}": 1, "/{a:*}/b": 1, "/{a:*}-": 1,
		"/{a?}/b": 6, "/{a?}/": 6, "/a{b?}": 1, "/{a?}-": 1, "/{$}": 1, "/{a...}": 1, "/a//b": 3, "/../a": 1, "/a/%2e": 3, "/{a{b}}": 1,
		"/{a?}/{b}": 6, "/{a:x?}{b}": 7, "/{a:\\x{110000}}": 4, "/{a:x{1001}}": 4, "h:80/{a}": 0,
		"/{a}%ff{b}": 1, strings.Repeat("/{a?}", 2): 6, "/{a b}": 0,
	} {
		r := router.New()
		got := message(func() { r.Fallback(pattern, show()) })
		if !strings.Contains(got, fmt.Sprintf("parsing %q: at offset %d: ", pattern, offset)) || !strings.Contains(got, "fallback_test.go:") {
			t.Errorf("%q: %s", pattern, got)
		}
		if r.GET("/x/{y}", show()); len(r.Routes()) != 1 || answer(serve(r, "GET", "/x/y")) != "200 /x/{y} /x/y" {
			t.Errorf("%q: the router is another one afterwards: %v", pattern, r.Routes())
		}
	}
	optional := func(n int) (p string) {
		for i := range n {
			p += fmt.Sprintf("/{x%d?}", i)
		}
		return p
	}
	if got := message(func() { router.New().Fallback(optional(64), show()) }); got != "<nil>" {
		t.Error("64 optional wildcards:", got)
	}
	if got := message(func() { router.New().Fallback(optional(65), show()) }); !strings.Contains(got, "more than 64") {
		t.Error("65 optional wildcards:", got)
	}
	if got := message(func() { router.New().Fallback("/x", nil) }); !strings.Contains(got, "fallback_test.go:") {
		t.Error("a handler that is nil:", got)
	}
	r := router.New()
	serve(r, "GET", "/")
	if got := message(func() { r.Fallback("/x", show()) }); !strings.Contains(got, "Fallback is called after the router has begun to serve") {
		t.Error("while the router serves:", got)
	}
}

// TestFallbackConflicts proves that a pattern of Fallback conflicts with each that matches the same requests, whatever
// was registered first, and with no other one, and that the router stays as it was.
func TestFallbackConflicts(t *testing.T) {
	for _, row := range []struct {
		native   bool
		a, b     string // b is of Fallback
		conflict bool
	}{
		{true, "/a/{x}", "/a/{y}", true}, {true, "/a/{x}", "/a/{y?}", true}, {true, "/a", "/a/{y?}", true}, {true, "/a/", "/a/{y:*}", true},
		{true, "/a/{x...}", "/a/{y:*}", true}, {true, "/a/{$}", "/a/", true}, {true, "/%61", "/a", true}, {true, "h.i/{x}", "H.i/{y}", true},
		{true, "{a}.i/x", "{b}.i/x", true}, {true, "/v{x}", "/v{y}", true}, {true, "GET /x", "GET /x", true},
		{true, "/a/{x}", "/a/{y:.+}", false}, {true, "/{x}.json", "/{x}.json", false}, {true, "/v{x}/y", "/v{x}/y", false}, {true, "/{x}/y", "/a/{x:*}", false},
		{true, "GET /x", "/x", false}, {true, "GET /x", "HEAD /x", false}, {true, "/a", "h.i/a", false}, {true, "/a/", "/a/", false},
		{false, "/{a}", "/{b}", true}, {false, "/{a:x}", "/{b:x}", true}, {false, "/{a:x}", "/{b:y}", false}, {false, "/{a}", "/{b:x}", false},
		{false, "/{a}/x", "/{b}/x", true}, {false, "/{a}/x", "/{b}/y", false}, {false, "/{a}-{b}", "/{b}-{a}", true}, {false, "/{a:*}", "/{b:*}", true},
		{false, "/a/{b?}", "/a", true}, {false, "/a/{b?}", "/a/{c?:x}", true}, {false, "/{a}.x", "/{a}", false}, {false, "GET /a", "POST /a", false},
	} {
		for _, swapped := range []bool{false, true} {
			r := router.New()
			register := []func(){func() { r.Fallback(row.a, show()) }, func() { r.Fallback(row.b, show()) }}
			if row.native {
				register[0] = func() { r.Handle(row.a, show()) }
			}
			if swapped {
				register[0], register[1] = register[1], register[0]
			}
			register[0]()
			for range 2 { // a second time, to see what the first has left
				got := message(register[1])
				if (got != "<nil>") != row.conflict {
					t.Errorf("%q and %q, swapped is %v: %s", row.a, row.b, swapped, got)
				}
				if row.conflict && (strings.Count(got, "fallback_test.go:") != 2 || !strings.Contains(got, fmt.Sprintf("%q", row.a)) || !strings.Contains(got, fmt.Sprintf("%q", row.b))) {
					t.Errorf("%q and %q: %s", row.a, row.b, got)
				}
				if !row.conflict {
					break
				}
			}
			if got := len(r.Routes()); row.conflict != (got == 1) {
				t.Errorf("%q and %q: the router has %d routes", row.a, row.b, got)
			}
		}
	}
}

// TestFallbackURL proves that URL makes paths that the route matches with the same values, and refuses others.
func TestFallbackURL(t *testing.T) {
	for _, row := range []struct{ pattern, values, want string }{
		{"/u/{id:[0-9]+}", "7", "/u/7"}, {"/u/{id:[0-9]+}", "x", ""}, {"/u/{id:[0-9]+}", "", ""}, {"/u/{id}", "a b", "/u/a%20b"}, {"/u/{id}", "..", ""},
		{"/u/{id}", "a/b", "/u/a%2Fb"}, {"/o/{a?}/{b?}", "", "/o"}, {"/o/{a?}/{b?}", "x", "/o/x"}, {"/o/{a?}/{b?}", "x|y", "/o/x/y"}, {"/o/{a?}/{b?}", "x|y|z", ""},
		{"/{a}-{b}", "x|y", "/x-y"}, {"/{a}-{b}", "x|y-z", ""}, {"/{a}-{b}", "x-y|z", "/x-y-z"}, {"/{a}.x", "b", "/b.x"}, {"/f/{p:*}", "a/b c", "/f/a/b%20c"},
		{"/f/{p:*}", "a//b", ""}, {"/f/{p:*}", "../b", ""}, {"/f/{p:*}", "a/", "/f/a/"}, {"{t}.h.i/{a}", "x|y", "//x.h.i/y"}, {"{t}.h.i/{a?}", "x", "//x.h.i/"},
		{"{t}.h.i/{a}", "x/|y", ""}, {"/{a}x", "b%", "/b%25x"}, {"/{a}25", "%|", ""},
	} {
		r := router.New()
		route := r.Fallback(row.pattern, show()).Name("n")
		var values []string
		if row.values != "" {
			values = strings.Split(row.values, "|")
		}
		got, err := r.URL("n", values...)
		if got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%s, %q: got %q, %v; want %q", row.pattern, row.values, got, err, row.want)
		}
		host, path := "", got
		if rest, ok := strings.CutPrefix(got, "//"); ok {
			host, path, _ = strings.Cut(rest, "/")
			path = "/" + path
		}
		if e := r.Explain("GET", host, path); err == nil && e.Route != route {
			t.Errorf("%s: %s isn't matched: %s", row.pattern, got, e)
		}
	}
}

// TestFallbackIsShown proves what Routes and Explain say of patterns of Fallback.
func TestFallbackIsShown(t *testing.T) {
	r := router.New()
	r.GET("/a/{x}", show())
	r.Fallback("GET /a/{id:[0-9]+}", show()).Name("a")
	r.Fallback("POST /a/{id:[0-9]+}", show())
	r.Fallback("GET /b/{x?}", show())
	r.Fallback("GET /{p:*}", show())
	table := r.Routes()
	if !table[1].Fallback || table[0].Fallback || table[1].Pattern != "/a/{id:[0-9]+}" || table[1].Name != "a" || !strings.HasSuffix(table[1].File, "fallback_test.go") {
		t.Errorf("got %+v", table)
	}
	if !strings.Contains(table.String(), "\nGET     /a/{id:[0-9]+} (fallback)") {
		t.Errorf("the table is\n%s", table)
	}
	for _, row := range []struct{ method, path, want, reason string }{
		{"GET", "/a/7", "GET /a/{x}", `not "GET /a/{id:[0-9]+}" A: it matches, and "GET /a/{x}" does, too: patterns of Fallback come after others`},
		{"POST", "/a/7", "POST /a/{id:[0-9]+}", `not "GET /a/{x}" A: the method is POST`},
		{"POST", "/a/x", "", `not "POST /a/{id:[0-9]+}" A: it matches no path that begins with "/a/" and goes on with "x"`},
		{"HEAD", "/b", "GET /b/{x?}", `not "GET /{p:*}" A: it matches, and "GET /b/{x?}" comes first`},
		{"GET", "/b/x/y", "GET /{p:*}", `not "GET /b/{x?}" A: it matches no path that begins with "/b/x" and goes on with "/y"`},
		{"POST", "/c/x", "", `not "POST /a/{id:[0-9]+}" A: it matches no path that begins like "/c/x"`},
		{"GET", "/%2e", "", `not "GET /{p:*}" A: segment 1 is "."`},
	} {
		e := r.Explain(row.method, "", row.path)
		text := e.String()
		for strings.Contains(text, "(registered") {
			before, after, _ := strings.Cut(text, "(registered")
			_, after, _ = strings.Cut(after, ")")
			text = before + "A" + after
		}
		if e.Pattern != row.want || !strings.Contains(text, row.reason) {
			t.Errorf("%s %s: %q\n%s", row.method, row.path, e.Pattern, text)
		}
	}
}

var fallbackParts = []string{"a", "ab", "{#}", "{#}b", "a{#}", "{#}-{#}", "{#:[ab]+}", "{#:a*}b", "{#:[^-]+}-{#:.*}", "%2F{#}", "{#}%25", "{#:.*/.*}"}
var fallbackPaths = []string{"a", "ab", "aab", "b", "a-b", "-", "a%2Fb", "%2fa", "%61", "%25", "a%25", "%2525", "x.y", "é"}

// TestFallbackLikeExplain compares what requests get with Explain, for random patterns of both
// kinds.
func TestFallbackLikeExplain(t *testing.T) {
	for seed := range uint64(gate.Form(100000, 1500)) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		r := router.New()
		r.TrailingSlash = router.Refuse
		for range 1 + rnd.IntN(12) {
			parts, ends, register := fallbackParts, []string{"", "", "/", "/{#?}", "/{#?}/{#?:[ab]}", "/{#:*}"}, r.Fallback
			if rnd.IntN(3) == 0 {
				parts, ends, register = affixParts, []string{"", "", "/", "/{$}", "/{#...}"}, r.Handle
			}
			p := pick(rnd, []string{"", "GET ", "HEAD ", "POST "}) + pick(rnd, affixHosts)
			for range 1 + rnd.IntN(3) {
				p += "/" + pick(rnd, parts)
			}
			p += pick(rnd, ends)
			for n := 0; strings.Contains(p, "#"); n++ {
				p = strings.Replace(p, "#", fmt.Sprint("v", n), 1)
			}
			got := message(func() { register(p, func(ctx *gale.RequestCtx) { ctx.SetBodyString(p) }) })
			if got != "<nil>" && !strings.Contains(got, "conflicts with") {
				t.Fatalf("seed %d: %q: %s", seed, p, got)
			}
		}
		for range 10 {
			method, host, path := pick(rnd, []string{"GET", "HEAD", "POST", "PUT"}), pick(rnd, []string{"h.i", "x.i", "x.j", "i"}), ""
			for range 1 + rnd.IntN(4) {
				path += "/" + pick(rnd, fallbackPaths)
			}
			e := r.Explain(method, host, path)
			ctx := request(method, host, path)
			r.Handler()(ctx)
			got := string(ctx.Response.Body())
			if ctx.Response.StatusCode() != 200 {
				got = ""
			}
			if got != e.Pattern {
				t.Fatalf("seed %d: %s %s%s gets %q, and Explain says %s\n%v", seed, method, host, path, got, e, r.Routes())
			}
		}
	}
}

// TestFallbackLarge registers many patterns, and long ones.
func TestFallbackLarge(t *testing.T) {
	n := gate.Form(10000, 2000)
	r := router.New()
	for i := range n {
		r.Fallback(fmt.Sprintf("GET /a%d/{x:[0-9]+}/{y?}", i), show("x"))
		r.GET(fmt.Sprintf("/b%d/{x}", i), show())
	}
	for i := range n {
		r.Fallback(fmt.Sprintf("GET /{x%d}/c%d", i, i), show(fmt.Sprint("x", i)))
	}
	if got := answer(serve(r, "GET", "/a77/7")); got != `200 /a77/{x:[0-9]+}/{y?} /a77/7 x="7"` {
		t.Error(got)
	}
	if got := answer(serve(r, "GET", fmt.Sprintf("/q/c%d", n-1))); !strings.HasPrefix(got, "200 ") {
		t.Error(got)
	}
	for name, part := range map[string]string{"wildcards": "/{x#}", "regular expressions": "/{x#:[0-9]+}", "texts": "/a", "one segment": "-{x#}"} {
		var p, path strings.Builder
		p.WriteString("/x")
		path.WriteString("/x")
		for i := range 10000 {
			part := strings.Replace(part, "#", fmt.Sprint(i), 1)
			p.WriteString(part)
			if text, _, ok := strings.Cut(part, "{"); ok {
				part = text + "7"
			}
			path.WriteString(part)
		}
		r := router.New()
		if got := message(func() { r.Fallback(p.String(), func(*gale.RequestCtx) {}) }); got != "<nil>" {
			if !strings.Contains(got, "at offset ") {
				t.Errorf("%s: %s", name, got[len(got)-100:])
			}
			continue
		}
		if got := serve(r, "GET", path.String()).Response.StatusCode(); got != 200 {
			t.Errorf("%s: status %d", name, got)
		}
	}
}

// TestFallbackIsLinear proves that the work for a path grows with its length and with the number of patterns only:
// an expression that takes forever in other engines is done in time, and each place of the tree is looked at once.
func TestFallbackIsLinear(t *testing.T) {
	r := router.New()
	r.Fallback("GET /e/{x:(a+)+b}", show())
	r.Fallback("GET /m/{a:a*}-{b:a*}-{c:a*}-{d:a*}b", show())
	for i := range 1 << 10 { // all ways through ten segments, each with two wildcards
		p := "GET /d"
		for n := range 10 {
			p += fmt.Sprintf("/{%c%d}", "xy"[i>>n&1], n)
		}
		r.Fallback(p+"/end"+fmt.Sprint(i), show())
	}
	for _, path := range []string{"/e/" + strings.Repeat("a", 50000), "/m/" + strings.Repeat("a-", 25000), "/d" + strings.Repeat("/a", 10) + "/none"} {
		if got := serve(r, "GET", path).Response.StatusCode(); got != 404 {
			t.Errorf("%.10s: status %d", path, got)
		}
	}
}

// TestFallbackPanics proves that a middleware or a handler of such a route that panics leaves the context as others do.
func TestFallbackPanics(t *testing.T) {
	r := router.New()
	r.Fallback("GET /a/{x:[a-z]+}", func(ctx *gale.RequestCtx) { panic("as it should") })
	r.Group("", func(gale.RequestHandler) gale.RequestHandler {
		return func(*gale.RequestCtx) { panic("as it should") }
	}).Fallback("GET /b/{x:[a-z]+}", show())
	r.Fallback("GET /c/{y:[a-z]+}", show("y"))
	srv := galetest.NewServer(r.Handler())
	defer srv.Close()
	for _, path := range []string{"/a/b", "/b/b", "/c/d"} {
		want := map[string]int{"/c/d": 200}[path]
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI("http://" + galetest.Host + path)
		if err := srv.Client().Do(&req, &resp); want != 0 && (err != nil || resp.StatusCode() != want) {
			t.Errorf("%s: %d, %v", path, resp.StatusCode(), err)
		}
	}
	ctx := request("GET", "example.com", "/a/b")
	if !panics(func() { r.Handler()(ctx) }) {
		t.Error("the panic is not heard")
	}
	ctx.Request.SetRequestURI("/c/d")
	if r.Handler()(ctx); answer(ctx) != `200 /c/{y:[a-z]+} /c/d y="d"` {
		t.Errorf("after a panic: %s", answer(ctx))
	}
}
