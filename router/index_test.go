package router

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// TestFewAreCompared proves that a new pattern is compared with few others, whatever they have in common with it.
func TestFewAreCompared(t *testing.T) {
	const n = 2000
	half := func(a, b string) func(i int) string {
		return func(i int) string { return fmt.Sprintf([...]string{a, b}[2*i/n], i) }
	}
	segments := func(n int, each func(i int) string) (text string) {
		for i := range n {
			text += "/" + each(i)
		}
		return text
	}
	wildcard := func(i int) string { return fmt.Sprintf("{x%d}", i) }
	random := func(texts ...string) func(i int) string {
		rnd := rand.New(rand.NewPCG(1, 2))
		return func(int) string {
			return segments(60, func(i int) string {
				return strings.Replace(texts[rnd.IntN(len(texts))], "{x}", wildcard(i), 1)
			})
		}
	}
	last := random("a", "b", "{x}")
	for name, text := range map[string]func(i int) string{
		"depths":               func(i int) string { return fmt.Sprintf("%s/z%d", segments(i%100, wildcard), i) },
		"long suffixes":        func(i int) string { return fmt.Sprintf("/{x}-%05d.generated.tar.gz.sha256", i) },
		"long prefixes":        func(i int) string { return fmt.Sprintf("/generated-resource-name-%05d-{x}", i) },
		"hosts":                func(i int) string { return fmt.Sprintf("{t}.h%d.example.com/", i) },
		"crossed hosts":        half("{a}.x%d.example/{x}/a%[1]d/b", "y%d.{b}.example/b%[1]d/{x}/c"),
		"methods":              func(i int) string { return fmt.Sprintf("M%d /{x}/a", i) },
		"literals, suffixes":   half("/generated-%05d", "/{x}.generated-%05d.gz"),
		"suffixes, literals":   half("/{x}.generated-%05d.gz", "/generated-%05d"),
		"prefixes, literals":   half("/generated-%05d-{x}", "/generated/%05d"),
		"lengths":              half("/{x}/a%d/a{y}a", "/a%d/{x}/aa"),
		"ends":                 half("/{x}/a%d/{$}", "/a%d/{x}/{y}"),
		"random":               random("a", "b", "{x}"),
		"random prefixes":      random("pa{x}", "pb{x}", "{x}"),
		"random suffixes":      random("{x}.as", "{x}.bs", "{x}"),
		"random lengths":       random("a{x}a", "aa", "{x}", "b"),
		"random, below others": func(i int) string { return segments(60, func(int) string { return "a" }) + last(i) },
	} {
		x, compared := &index{}, 0
		for i := range n {
			p, err := parse(text(i))
			if err != nil {
				t.Fatalf("parsing %q: %v", text(i), err)
			}
			if old := x.add(p); old != nil && !strings.HasPrefix(name, "random") {
				t.Fatalf("%s: %q conflicts", name, text(i))
			}
			if h := x.host(p.hostText); h.shelf.columns != nil {
				h.shelf.columns.look(p, h.shelf.patterns)
				for range h.shelf.near() {
					compared++
				}
			}
		}
		if compared > 2*few*n {
			t.Errorf("%s: %d patterns are compared %d times", name, n, compared)
		}
	}
}

// TestIndexMissesNothing compares the index with a comparison of each pattern with each, for many patterns with
// texts that begin or end with each other, with hosts and without. In every other round patterns are looked at by
// columns from the beginning, else by their marks.
func TestIndexMissesNothing(t *testing.T) {
	for seed := range uint64(gate.Form(4000, 200)) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		text := func(from, to int) string {
			b := make([]byte, from+rnd.IntN(to-from+1))
			for i := range b {
				b[i] = "ab"[rnd.IntN(2)]
			}
			return string(b)
		}
		segment := func(name string, affixes int) string {
			if rnd.IntN(3) == 0 {
				return text(1, affixes+1)
			}
			return text(0, affixes) + "{" + name + "}" + text(0, affixes)
		}
		hosts, depth := seed/2%3, 1+int(seed/6%4)
		affixes := [...]int{4, 4, 1, 1}[depth-1]
		x, conflicts := &index{}, 0
		for range 200 {
			p := []string{"", "GET ", "HEAD ", "POST "}[rnd.IntN(4)]
			if rnd.IntN(3) < int(hosts) {
				for i := range 2 + rnd.IntN(2) {
					p += segment(fmt.Sprint("h", i), 0) + "."
				}
				p += "c"
			}
			for i := range 1 + rnd.IntN(depth+1) {
				p += "/" + segment(fmt.Sprint("x", i), affixes)
			}
			p += []string{"", "", "", "/", "/{$}", "/{r...}"}[rnd.IntN(6)]
			parsed, err := parse(p)
			if err != nil {
				t.Fatalf("parsing %q: %v", p, err)
			}
			want := false
			for _, old := range x.patterns {
				r := compare(parsed, old)
				want = want || r == equal || r == overlapping
			}
			if got := x.add(parsed); (got != nil) != want {
				t.Fatalf("seed %d: %q conflicts is %v, and the index says %v", seed, p, want, got)
			}
			if seed%2 == 1 {
				addColumns(x)
			}
			if want {
				conflicts++
			}
		}
		if conflicts == 0 || len(x.patterns) < 2*few {
			t.Errorf("seed %d: %d patterns and %d conflicts show nothing", seed, len(x.patterns), conflicts)
		}
	}
}

// addColumns ends that patterns of x are looked at by their marks.
func addColumns(x *index) {
	for _, h := range x.order {
		if h.shelf.columns == nil {
			h.shelf.addColumns()
		}
	}
}

// TestWildHosts proves that hosts are found by their labels, and narrower ones first.
func TestWildHosts(t *testing.T) {
	root := &hostNode{}
	for _, text := range []string{"{a}.{b}.c/", "{a}.b.c/", "a.{b}.c/", "{a}.b.{c}/", "{a}.c/", "{a}.b/", "a.{b}.{c}.d/"} {
		p, err := parse(text)
		if err != nil {
			t.Fatalf("parsing %q: %v", text, err)
		}
		root.add(&site{host: p.host, named: []methodTree{{method: p.hostText}}})
	}
	for host, want := range map[string]string{
		"a.b.c": "{}.b.c a.{}.c {}.{}.c {}.b.{} ", "x.b.c": "{}.b.c {}.{}.c {}.b.{} ", "x.y.c": "{}.{}.c ", "x.b.y": "{}.b.{} ", "c": "", "": "", ".c": "",
		"x.c": "{}.c ", "x..c": "", "x.c.": "", "w.x.y.c": "", "a.x.c.d": "a.{}.{}.d ",
	} {
		got := ""
		for _, s := range root.find(nil, host) {
			got += s.named[0].method + " "
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}
