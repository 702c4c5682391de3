package router_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale/router"
	"github.com/galehttp/gale/tests/harness/gate"
)

// TestLarge registers many routes of kinds that a conflict check of each with each would be slow for, and
// patterns of many parts.
func TestLarge(t *testing.T) {
	n := gate.Form(10000, 2000)
	half := func(a, b string) func(i int) string {
		return func(i int) string {
			if i < n/2 {
				return fmt.Sprintf(a, i)
			}
			return fmt.Sprintf(b, i)
		}
	}
	for name, pattern := range map[string]func(i int) string{
		"static":         func(i int) string { return fmt.Sprintf("GET /a/b%d", i) },
		"parameter":      func(i int) string { return fmt.Sprintf("GET /a%d/{x}/c/{y}", i) },
		"last":           func(i int) string { return fmt.Sprintf("GET /{x}/{y}/c%d", i) },
		"two halves":     half("/{x}/b%d", "/a%d/c"),
		"crossed":        half("/{x}/b%d/c", "/a%d/{y}/d"),
		"with a prefix":  half("/users/{x}/b%d", "/orgs/a%d/{y}"),
		"affixes":        half("/{x}.%d.y", "/{x}/%d"),
		"suffixes":       func(i int) string { return fmt.Sprintf("/{x}.%d.y", i) },
		"prefixes":       func(i int) string { return fmt.Sprintf("/v%d{x}y", i*10000) },
		"rests":          half("/a%d/{x...}", "/b/a%d/"),
		"rests, shorter": half("/{x}/b%d/{y}/{z}/{r...}", "/b%d/{c}"),
		"hosts":          half("{x}.h%d/a", "h%d.{x}.i/{y}"),
		"crossed hosts":  half("{a}.x%d.example/{p}/a%[1]d/x", "y%d.{b}.example/b%[1]d/{c}/y"),
		"crossed paths":  half("{a}.x.example/{p}/a%d/x", "y.{b}.example/b%d/{c}/y"),
		"nested hosts":   half("{a}.{b}.example/{x}/b%d", "{a}.b.example/a%d/{x}"),
		"nested labels": func(i int) string {
			return strings.Repeat("x.", 50-i%50) + repeat(".{h#}", i%50+1)[1:] + "/" + strings.Repeat("a", i/50) + "{x}"
		},
		"long suffixes": func(i int) string { return fmt.Sprintf("/{x}-%05d.generated.tar.gz.sha256", i) },
		"long prefixes": func(i int) string { return fmt.Sprintf("/generated-resource-name-%05d-{x}", i) },
		"texts":         half("/generated-%05d", "/{x}.generated-%05d.gz"),
		"other texts":   half("/generated-%05d-{x}", "/generated/%05d"),
		"tenants":       func(i int) string { return fmt.Sprintf("{t}.h%d.example.com/", i) },
		"methods":       half("M%d /a", "GET /%d/{x}"),
		"methods, any":  half("M%d /a%[1]d/{x}", "/{x}/b%d/c"),
		"all methods":   func(i int) string { return fmt.Sprintf("M%d /{x}/{y}", i) },
		"deep":          func(i int) string { return repeat("/a", 99) + fmt.Sprint("/b", i) + repeat("/c", 100) },
		"bits": func(i int) string {
			text := ""
			for j := range 14 {
				text += fmt.Sprintf("/{x%d}/%c", j, "bc"[i>>j&1])
			}
			return text
		},
		"lengths": half("/{x}/a%d/a{y}a", "/a%d/{x}/aa"),
		"ends":    half("/{x}/a%d/{$}", "/a%d/{x}/{y}"),
	} {
		r := router.New()
		for i := range n {
			r.Handle(pattern(i), show())
		}
		if got := message(func() { r.Handle(pattern(n/4), show()) }); !strings.Contains(got, "conflicts with") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, pattern := range map[string]string{
		"optional":        repeat("/{x#?}", 60),
		"optional, apart": repeat("/a/{x#?}", 60),
		"expressions":     repeat("/{x#?:[a-z]{1,9}}", 60),
	} {
		r := router.New()
		for i := range n / 2 {
			r.Fallback(fmt.Sprint("/r", i, pattern), show())
		}
		if got := message(func() { r.Fallback(fmt.Sprint("/r", n/4, strings.ReplaceAll(pattern, "x", "y")), show()) }); !strings.Contains(got, "conflicts with") {
			t.Errorf("%s: %s", name, got)
		}
	}
	long := strings.Repeat("/a/{#}", 5000)
	for i := 0; strings.Contains(long, "#"); i++ {
		before, after, _ := strings.Cut(long, "#")
		long = before + fmt.Sprint("x", i) + after
		if i == 100 {
			long = strings.ReplaceAll(long, "{#}", "b")
		}
	}
	r := router.New()
	r.Handle(long, show())
	if got := answer(serve(r, "GET", strings.NewReplacer("{", "", "}", "").Replace(long))); !strings.HasPrefix(got, "200") {
		t.Error("a long pattern:", got[:20])
	}
	if !panics(func() { router.New().Handle(strings.Repeat("/{x}", 10000), show()) }) {
		t.Error("a name may be there twice")
	}
}

// TestAlikePaths proves that a route without wildcards is found among many that are alike where such paths are hashed,
// and that one with a method still comes before one without.
func TestAlikePaths(t *testing.T) {
	r := router.New()
	path := func(i int) string { return fmt.Sprint("/v", i, repeat("/common", 10)) }
	for i := range 200 {
		r.Handle(path(i), show())
		r.GET(path(i), show())
	}
	for i := range 200 {
		if got := serve(r, "POST", path(i)).Pattern(); got != path(i) {
			t.Errorf("POST %s: got %q", path(i), got)
		}
	}
	if got := r.Explain("GET", "", path(150)).Pattern; got != "GET "+path(150) {
		t.Errorf("GET: got %q", got)
	}
	if got := answer(serve(r, "GET", path(200))); !strings.HasPrefix(got, "404") {
		t.Errorf("a path without a route: got %q", got)
	}
}

// TestManyMethods proves that routes without a method are found where methods have trees of their own.
func TestManyMethods(t *testing.T) {
	r := router.New()
	for i := range 100 {
		r.Handle(fmt.Sprintf("M%d /a/%d/b", i, i), show())
		r.Handle(fmt.Sprintf("/a/%d/{x}", i), show())
		r.Handle(fmt.Sprintf("M%d h.{h}/a/%d/b", i, i), show())
	}
	r.Handle("M1 /a/{$}", show())
	r.Handle("/a/", show())
	r.Handle("h.{h}/a/{x}/", show())
	for request, want := range map[string]string{
		"M1 /a/1/b": "/a/1/b", "M1 /a/1/c": "/a/1/{x}", "M2 /a/1/b": "/a/1/{x}", "X /a/1/b": "/a/1/{x}", "GET /a/2/b": "/a/2/{x}",
		"M1 /a/": "/a/{$}", "M2 /a/": "/a/", "X /a/": "/a/", "M1 /d": "", "M1 /a/1/%63": "/a/1/{x}", "M1 /a/1/%62": "/a/1/b", "M1 /a": "",
		"M1 //h.i/a/1/b": "h.{h}/a/1/b", "M1 //h.i/a/2/b": "h.{h}/a/{x}/", "M1 //h.i/a/": "/a/{$}", "M2 //h.i/a/1": "", "M2 //i.i/a/1/c": "/a/1/{x}",
	} {
		method, target, _ := strings.Cut(request, " ")
		if host, found := strings.CutPrefix(target, "//"); found {
			target = "http://" + host
		}
		if got := serve(r, method, target).Pattern(); got != want {
			t.Errorf("%s: got %q, want %q", request, got, want)
		}
	}
	if got := serve(r, "M1", "/a/1/c").PathValue("x"); got != "c" {
		t.Errorf("the value is %q", got)
	}
}

// repeat returns a text n times, each time with another number for "#".
func repeat(text string, n int) (all string) {
	for i := range n {
		all += strings.ReplaceAll(text, "#", fmt.Sprint(i))
	}
	return all
}

// TestPatternsAreFew proves that requests make no new patterns.
func TestPatternsAreFew(t *testing.T) {
	r := router.New()
	r.GET("/a/{x}", show())
	r.POST("/a/", show())
	inner := router.New()
	inner.GET("/{z}", show())
	inner.Fallback("GET /{z:[a-z]+}/{y?}/{x?}", show())
	r.Fallback("GET /{x:a+}%41{y:a*}", show())
	r.Fallback("/b/{path:*}", show())
	r.Mount("/in", inner.Handler())
	patterns := map[string]bool{}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range gate.Form(100000, 20000) {
		target := "/"
		for range rnd.IntN(10) {
			target += pick(rnd, []string{"a", "b", "/", "%41", "in", "%2F", ".", "é"})
		}
		patterns[serve(r, pick(rnd, []string{"GET", "POST", "HEAD", "M" + fmt.Sprint(rnd.IntN(1000))}), target).Pattern()] = true
	}
	if len(patterns) != 7 { // with ""
		t.Errorf("there are %d: %v", len(patterns), patterns)
	}
}
