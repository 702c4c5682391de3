package router_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/gate"
)

var affixParts = []string{"a", "ab", "abc", "{#}", "a{#}", "{#}c", "a{#}c", "ab{#}", "{#}bc", "{#}.x", "{#}%2Fx", "%2F{#}",
	"{#}C", "{#}F", "{#}3", "{#}5", "{#}2F", "{#}5C", "{#}23", "{#}25", "{#}0", "{#}00", "%25{#}25"}
var affixHosts = []string{"", "", "h.i", "{#}.i", "h.{#}", "{#}.{#}", "{#}.j"}
var affixPaths = []string{"a", "ab", "abc", "abbc", "ac", "c", "bc", "b.x", ".x", "a%2Fx", "%2Fx", "%2fab%63", "",
	"%2F", "a%2f", "%5C", "100%25", "%23", "a%3Fx", "%00", "%2525", "%252F", "a2F", "100", "5", "%2"}

// explainSeed compares the tree with Explain, which looks at all routes one by one, for patterns that
// http.ServeMux doesn't have.
func explainSeed(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	r := router.New()
	r.TrailingSlash = router.Refuse
	r.NoHEAD = rnd.IntN(4) == 0
	for range 1 + rnd.IntN(20) {
		p := pick(rnd, []string{"", "GET ", "HEAD ", "POST "}) + pick(rnd, affixHosts)
		for range 1 + rnd.IntN(3) {
			p += "/" + pick(rnd, affixParts)
		}
		p += pick(rnd, []string{"", "", "/", "/{$}", "/{#...}"})
		for n := 0; strings.Contains(p, "#"); n++ {
			p = strings.Replace(p, "#", fmt.Sprint("v", n), 1)
		}
		got := message(func() {
			r.Handle(p, func(ctx *gale.RequestCtx) { ctx.SetBodyString(p) })
		})
		if got != "<nil>" && !strings.Contains(got, "conflicts with") {
			t.Fatalf("seed %d: %q: %s", seed, p, got)
		}
	}
	for range 10 {
		method, host, path := pick(rnd, []string{"GET", "HEAD", "POST", "PUT"}), pick(rnd, []string{"h.i", "x.i", "h.x", "x.y", "x.j", "i", "x.y.z"}), ""
		for range 1 + rnd.IntN(4) {
			path += "/" + pick(rnd, affixPaths)
		}
		e := r.Explain(method, host, path)
		ctx := request(method, host, path)
		r.Handler()(ctx)
		got := string(ctx.Response.Body())
		if status := ctx.Response.StatusCode(); status != 200 {
			if got = ""; status == 307 {
				continue // an unclean path
			}
		}
		if got != e.Pattern {
			t.Fatalf("seed %d: %s %s%s gets %q, and Explain says %s\n%v", seed, method, host, path, got, e, r.Routes())
		}
	}
}

// TestLikeExplain compares the tree with Explain.
func TestLikeExplain(t *testing.T) {
	for seed := range uint64(gate.Form(100000, 1500)) {
		explainSeed(t, seed)
	}
}

func FuzzLikeExplain(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed << 32)
	}
	f.Fuzz(explainSeed)
}

// FuzzPattern proves that a pattern of Handle or Fallback is registered or refused as malformed, and that what is
// registered matches the URL that the router makes of it.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"GET /a/{b}.c/{d...}", "{a}.b.c/%2f%zz/{$}", "/a b/\\..\\x{y}", "X\t //{x}//", "/.{x}/", "/%2e"} {
		f.Add(p, "v", false)
	}
	for _, p := range []string{"GET /a/{b:[a-z]+}.c/{d?}/{e?:v|w}", "{a}.b.c/{x}-{y:.*}%2f/{z:*}", "/{a:(?i)V{1,2}}x/v{b}/", "/{x:[^/]*}"} {
		f.Add(p, "v", true)
	}
	f.Fuzz(func(t *testing.T, pattern, value string, fallback bool) {
		r := router.New()
		register := r.Handle
		if fallback {
			register = r.Fallback
		}
		var route *router.Route
		if got := message(func() { route = register(pattern, show()) }); got != "<nil>" {
			if !strings.Contains(got, "router: parsing ") || !strings.Contains(got, "at offset ") {
				t.Fatalf("%q: %s", pattern, got)
			}
			return
		}
		route.Name("n")
		var values []string
		for range strings.Count(pattern, "{") - strings.Count(pattern, "{$}") {
			values = append(values, value)
		}
		to, err := r.URL("n", values...)
		if err != nil || strings.HasPrefix(to, "//") {
			return
		}
		method, _, _ := strings.Cut(pattern, " ")
		if !strings.ContainsAny(pattern, " \t") {
			method = "GET"
		}
		if strings.ContainsAny(pattern, "\t") || !strings.Contains(pattern, " ") && method != "GET" || strings.Contains(to, "//") {
			return
		}
		if e := r.Explain(method, "", to); e.Route != route {
			t.Fatalf("%q with %q: %s isn't matched: %s", pattern, value, to, e)
		}
		if ctx := serve(r, method, to); ctx.Pattern() == "" {
			t.Fatalf("%q with %q: %s gets %d", pattern, value, to, ctx.Response.StatusCode())
		}
	})
}

// TestExplain proves what Explain says.
func TestExplain(t *testing.T) {
	r := router.New()
	r.GET("/items/{id}", show())
	r.GET("/items/new", show())
	r.POST("/items/{id}", show())
	r.GET("/{x}", show())
	for _, row := range []struct{ method, path, want, reason string }{
		{"GET", "/items/new", "GET /items/new", `not "GET /items/{id}" (registered at F): it matches, and "GET /items/new" is more specific`},
		{"GET", "/items/7", "GET /items/{id}", `not "POST /items/{id}" (registered at F): the method is GET`},
		{"PUT", "/items/7", "", `not "GET /items/{id}" (registered at F): the method is PUT`},
		{"GET", "/items/7/x", "", `not "GET /items/{id}" (registered at F): the path is longer`},
		{"GET", "/", "", `not "GET /{x}" (registered at F): segment 1 is "", not "{x}"`},
		{"GET", "/%2e", "", `segment 1 is ".": one that is, or has between slashes or backslashes, "." or ".." never matches`},
	} {
		e := r.Explain(row.method, "", row.path)
		text := e.String()
		for _, line := range strings.Split(text, "\n") {
			if _, at, ok := strings.Cut(line, "(registered at "); ok {
				at, _, _ = strings.Cut(at, ")")
				text = strings.ReplaceAll(text, at, "F")
			}
		}
		if e.Pattern != row.want || !strings.Contains(text, row.reason) {
			t.Errorf("%s %s: %q\n%s", row.method, row.path, e.Pattern, text)
		}
	}
}

// TestCallSites proves that a route knows the line that registered it, whatever way leads there.
func TestCallSites(t *testing.T) {
	type registrar interface {
		Handle(pattern string, handler gale.RequestHandler) *router.Route
		Mount(prefix string, handler gale.RequestHandler) *router.Route
	}
	r := router.New()
	g := r.Group("/g")
	var as registrar = r
	post, methodOf := g.POST, (*router.Router).GET
	_, _, line, _ := runtime.Caller(0)
	r.Handle("/1", show())
	r.GET("/2", show())
	g.Any("/3", show())
	g.Mount("/4", show())
	as.Handle("/5", show())
	as.Mount("/6", show())
	post("/7", show())
	methodOf(r, "/8", show())
	func() { r.QUERY("/9", show()) }()
	for i, info := range r.Routes() {
		if info.Line != line+1+i || !strings.HasSuffix(info.File, "explain_test.go") {
			t.Errorf("%s was registered at line %d, and is said to be at %s:%d", info.Pattern, line+1+i, info.File, info.Line)
		}
	}
}
