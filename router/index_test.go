package router

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// TestFewAreCompared proves that a new pattern is compared with few others, also where thousands share long
// texts with it.
func TestFewAreCompared(t *testing.T) {
	const n = 2000
	half := func(a, b string) func(i int) string {
		return func(i int) string { return fmt.Sprintf([...]string{a, b}[2*i/n], i) }
	}
	wildcards := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("/{x%d}", i)
		}
		return text
	}
	for name, text := range map[string]func(i int) string{
		"depths":             func(i int) string { return fmt.Sprintf("%s/z%d", wildcards(i%100), i) },
		"long suffixes":      func(i int) string { return fmt.Sprintf("/{x}-%05d.generated.tar.gz.sha256", i) },
		"long prefixes":      func(i int) string { return fmt.Sprintf("/generated-resource-name-%05d-{x}", i) },
		"hosts":              func(i int) string { return fmt.Sprintf("{t}.h%d.example.com/", i) },
		"literals, suffixes": half("/generated-%05d", "/{x}.generated-%05d.gz"),
		"suffixes, literals": half("/{x}.generated-%05d.gz", "/generated-%05d"),
		"prefixes, literals": half("/generated-%05d-{x}", "/generated/%05d"),
	} {
		x, compared := &index{}, 0
		for i := range n {
			p, err := parse(text(i))
			if err != nil {
				t.Fatalf("parsing %q: %v", text(i), err)
			}
			if h := x.host(p.hostText); h != nil && h.shelf("") != nil {
				compared += total(h.shelf("").near(p))
			} else if s := x.wild[len(p.host)]; s != nil {
				compared += total(s.near(&pattern{path: p.host}))
			}
			if old := x.add(p); old != nil {
				t.Fatalf("%s: %q conflicts", name, text(i))
			}
		}
		if compared > 2*few*n {
			t.Errorf("%s: %d patterns are compared %d times", name, n, compared)
		}
	}
}

// TestIndexMissesNothing compares the index with a comparison of each pattern with each, for many patterns with
// texts that begin or end with each other. In every other round patterns are sorted from the beginning, else
// they are looked at by their marks.
func TestIndexMissesNothing(t *testing.T) {
	for seed := range uint64(gate.Form(2000, 100)) {
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
				return text(1, 5)
			}
			return text(0, affixes) + "{" + name + "}" + text(0, affixes)
		}
		x, conflicts := &index{}, 0
		for range 200 {
			p := []string{"", "GET ", "HEAD "}[rnd.IntN(3)]
			if rnd.IntN(3) == 0 {
				p += segment("h", 0) + "." + segment("i", 0) + ".c"
			}
			for i := range 1 + rnd.IntN(2) {
				p += "/" + segment(fmt.Sprint("x", i), 4)
			}
			if rnd.IntN(8) == 0 {
				p += "/"
			}
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
				sortAll(x)
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

// sortAll sorts all patterns of x.
func sortAll(x *index) {
	for _, s := range x.wild {
		if s.by == nil {
			s.sortAll()
		}
	}
	for _, h := range x.order {
		for _, s := range append(slices.Clone(h.methods), h.all) {
			if s != nil && s.by == nil {
				s.sortAll()
			}
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
