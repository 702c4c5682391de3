package router_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/gate"
)

// These tests run the same patterns and requests through http.ServeMux and a Router, and find no
// difference but those that the documentation of the package names: segments that decode to "." or
// "..", redirects of unclean paths with escapes, which http.ServeMux encodes twice or
// decodes, and paths with
// escapes and bytes that RFC 3986 doesn't allow, which net/url decodes.

// seen is what became of a request.
type seen struct {
	status          int
	pattern, values string
	allow, location string
}

var names = []string{"x", "y", "z", "w"}

// both is a mux and a router with the same routes.
type both struct {
	mux *http.ServeMux
	r   *router.Router
	s   gale.Server // to which r is attached
	n   int         // requests so far

	gotMux, gotRouter seen
}

func newBoth() *both {
	b := &both{mux: http.NewServeMux(), r: router.New()}
	b.r.NoOPTIONS = true
	if err := b.r.Attach(&b.s); err != nil {
		panic(err)
	}
	return b
}

// add registers a pattern, and reports which of both refuse it.
func (b *both) add(pattern string) (mux, own any) {
	func() {
		defer func() { mux = recover() }()
		b.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			values := ""
			for _, n := range names {
				values += fmt.Sprintf(" %s=%q", n, r.PathValue(n))
			}
			where := r.Pattern[strings.IndexAny(r.Pattern, " \t")+1:]
			b.gotMux = seen{pattern: pattern + "=" + where, values: values}
		})
	}()
	func() {
		defer func() { own = recover() }()
		b.r.Handle(pattern, func(ctx *gale.RequestCtx) {
			values := ""
			for _, n := range names {
				values += fmt.Sprintf(" %s=%q", n, ctx.PathValue(n))
			}
			b.gotRouter = seen{pattern: pattern + "=" + ctx.Pattern(), values: values}
		})
	}()
	return mux, own
}

func (b *both) ask(t *testing.T, method, host, target string) (mux, own seen) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatalf("the target %q: %v", target, err)
	}
	b.gotMux, b.gotRouter = seen{}, seen{}
	r := httptest.NewRequest("GET", "http://"+host+"/", nil)
	r.Method, r.URL, r.RequestURI = method, u, target
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	b.gotMux.status, b.gotMux.allow, b.gotMux.location = w.Code, w.Header().Get("Allow"), w.Header().Get("Location")

	var ctx gale.RequestCtx
	var req gale.Request
	req.Header.SetMethod(method)
	req.Header.SetHost(host)
	req.Header.SetRequestURI(target)
	ctx.Init(&req, nil, nil)
	if b.n++; b.n%2 == 0 { // the route is found before the body is read, and kept
		b.s.RequestStarted(&ctx)
	}
	b.s.Handler(&ctx)
	b.gotRouter.status = ctx.Response.StatusCode()
	b.gotRouter.allow = string(ctx.Response.Header.Peek("Allow"))
	b.gotRouter.location = string(ctx.Response.Header.Peek("Location"))
	return b.gotMux, b.gotRouter
}

// hasDots reports whether a segment of a path is, or has between slashes and backslashes, "." or "..".
func hasDots(path string) bool {
	for _, s := range strings.Split(path, "/") {
		s, _ = url.PathUnescape(s)
		for _, part := range strings.FieldsFunc("x/"+s+"/x", func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
	}
	return false
}

// same reports whether there is no difference that isn't named.
func same(target string, mux, own seen) bool {
	p, _, _ := strings.Cut(target, "?")
	if strings.ContainsAny(p, "é\\") && strings.Contains(p, "%") {
		return true // net/url has decoded it before http.ServeMux sees it
	}
	if (strings.Contains(strings.ToLower(p), "%2f") || strings.Contains(p, "%2e") || hasDots(path.Clean(p))) && mux.status == http.StatusTemporaryRedirect && own.status == mux.status {
		to, _, _ := strings.Cut(own.location, "?")
		to, _ = url.PathUnescape(strings.TrimSuffix(to, "/"))
		want, _ := url.PathUnescape(strings.TrimSuffix(path.Clean(p), "/"))
		return to == want // http.ServeMux decodes the slash, and adds one after dots
	}
	if mux.status == http.StatusTemporaryRedirect && own.status == mux.status {
		once, _ := url.PathUnescape(mux.location)
		twice, _ := url.PathUnescape(once)
		ours, _ := url.PathUnescape(own.location)
		return ours == once || ours == twice && strings.ContainsAny(p, "%é\\")
	}
	if hasDots(p) && own.status != http.StatusTemporaryRedirect {
		return own.status == http.StatusNotFound
	}
	return mux == own
}

var patternParts = []string{"a", "b", "c", "ab", "{x}", "{y}", "{x}", "a%2Fb", "%61", "%2e", "é", "a b", "%25", "%2", "a\\b"}
var requestParts = []string{"a", "b", "c", "ab", "d", "%61", "a%2Fb", "a%2fb", "%2e%2e", ".", "..", "", "é", "%C3%A9", "a%20b", "%25", "%252F", "...", "x%5C..", "a\\b", "%5C"}
var methods = []string{"", "", "GET ", "GET ", "HEAD ", "POST ", "X\t"}
var hosts = []string{"", "", "", "h", "i.j"}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func randomPattern(r *rand.Rand) string {
	p := pick(r, methods) + pick(r, hosts)
	used := map[string]bool{}
	for range r.IntN(4) {
		part := pick(r, patternParts)
		if used[part] && part[0] == '{' {
			part = "b"
		}
		used[part] = true
		p += "/" + part
	}
	switch n := r.IntN(8); {
	case n < 2 || !strings.Contains(p, "/"):
		p += "/"
	case n == 2:
		p += "/{$}"
	case n == 3:
		p += "/{z...}"
	case n == 4:
		p += "/{w}"
	}
	return p
}

func randomTarget(r *rand.Rand) string {
	p := ""
	for range 1 + r.IntN(4) {
		p += "/" + pick(r, requestParts)
	}
	if r.IntN(4) == 0 {
		p += "/"
	}
	if r.IntN(8) == 0 {
		p += "?q=%2F"
	}
	return p
}

func compareWithMux(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	b := newBoth()
	var patterns []string
	for range 1 + r.IntN(8) {
		p := randomPattern(r)
		patterns = append(patterns, p)
		if mux, own := b.add(p); (mux != nil) != (own != nil) {
			t.Fatalf("seed %d: of %q, %q is refused by\nhttp.ServeMux: %v\nthe router: %v", seed, patterns, p, mux, own)
		}
	}
	for range 12 {
		method, host, target := []string{"GET", "HEAD", "POST", "X", "PUT"}[r.IntN(5)], []string{"h", "i.j", "k", "h:80"}[r.IntN(4)], randomTarget(r)
		if mux, own := b.ask(t, method, host, target); !same(target, mux, own) {
			t.Fatalf("seed %d: %q\n%s %s on %s:\nhttp.ServeMux: %+v\nthe router:    %+v", seed, patterns, method, target, host, mux, own)
		}
	}
}

// TestLikeServeMux compares random patterns and requests. GALE_MUX_CASES says how many sets of patterns
// there are, each with 12 requests.
func TestLikeServeMux(t *testing.T) {
	n := gate.Form(100000, 1500)
	if s := os.Getenv("GALE_MUX_CASES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := range uint64(n) {
		compareWithMux(t, seed)
	}
}

func FuzzLikeServeMux(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed << 32)
	}
	f.Fuzz(compareWithMux)
}

// TestServeMuxDiffers proves what the documentation of the package says of http.ServeMux.
func TestServeMuxDiffers(t *testing.T) {
	for _, row := range []struct{ pattern, host, target, mux, own string }{
		{"example.com/", "example.com", "http://example.com", "307", "200"},
		{"example.com/", "example.com", "http://example.com?q", "307", "200"},
		{"example.com/", "EXAMPLE.com", "/", "404", "200"},
		{"example.com/", "example.com.", "/", "404", "404"},
		{"GET /a/../b", "h", "/b", "malformed", "malformed"},
		{"/a/../b", "h", "/a/../b", "307", "307"},
		{"example.com:80/", "example.com:80", "/", "404", "malformed"},
		{"GET POST /x", "h", "/x", "404", "malformed"},
	} {
		b := newBoth()
		refused, refusedToo := b.add(row.pattern)
		if refused != nil || refusedToo != nil {
			got := [2]string{}
			for i, r := range []any{refused, refusedToo} {
				if r != nil {
					got[i] = "malformed"
				}
			}
			if got[0] != strings.TrimPrefix(row.mux, "404") || got[1] != row.own {
				t.Errorf("%q: http.ServeMux: %v, the router: %v", row.pattern, refused, refusedToo)
			}
			continue
		}
		mux, own := b.ask(t, "GET", row.host, row.target)
		if got := fmt.Sprint(mux.status); got != row.mux {
			t.Errorf("%q, %s on %s: http.ServeMux answers %s", row.pattern, row.target, row.host, got)
		}
		if got := fmt.Sprint(own.status); got != row.own {
			t.Errorf("%q, %s on %s: the router answers %s, want %s", row.pattern, row.target, row.host, got, row.own)
		}
	}
}
