package router

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/gate"
)

// TestWalk compares walk with search, which walks in another way, for many small trees: with and without a query
// after the path, and with anything after the target in memory.
func TestWalk(t *testing.T) {
	const letters = "//abab.-%#?\\'!"
	several, found := 0, 0
	for seed := range uint64(gate.Form(20_000, 500)) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		text := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[rnd.IntN(len(letters))]
			}
			return b
		}
		tree := randomTree(rnd)
		for range 200 {
			target := append([]byte("/"), text(rnd.IntN(24))...)
			if rnd.IntN(2) == 0 {
				target = []byte("/")
				for range rnd.IntN(4) {
					target = append(target, []string{"a", "b", "ab", "abababab", "x1-yz"}[rnd.IntN(5)]+[]string{"/", "", "?", ".b/"}[rnd.IntN(4)]...)
				}
			}
			path := pathOf(target)
			f := search{path: path, values: make([]door.Span, 8)}
			want := tree.search(&f)
			enough := want && !f.odd && !(f.open && tree.redirects && path[len(path)-1] != '/')
			for _, after := range [][]byte{nil, text(rnd.IntN(16))} {
				in := append(slices.Clip(slices.Clone(target)), after...)[:len(target)]
				m := &door.Route{Values: make([]door.Span, 8)}
				r := tree.walk(m, in)
				switch {
				case (r != nil) != enough:
					t.Fatalf("seed %d, %q: walk finds %v, and search %v (odd %v, open %v)", seed, in[:cap(in)], r != nil, want, f.odd, f.open)
				case r == nil:
					continue
				case r != f.route:
					t.Fatalf("seed %d, %q: walk finds %q, and search %q", seed, in[:cap(in)], r.match.Pattern, f.route.match.Pattern)
				case f.n > 0 && (!slices.Equal(m.Values, f.values[:f.n]) || string(m.Text) != string(path)):
					t.Fatalf("seed %d, %q, %q: the values are %v of %q, want %v", seed, in[:cap(in)], r.match.Pattern, m.Values, m.Text, f.values[:f.n])
				}
				if found++; tree.nodes[0].forks() || f.open {
					several++
				}
			}
		}
	}
	if found == 0 || several == 0 {
		t.Errorf("%d targets are found, %d of them where there are several ways", found, several)
	}
}

// randomTree returns a tree of some patterns that don't conflict.
func randomTree(rnd *rand.Rand) *tree {
	r := New()
	if rnd.IntN(2) == 0 {
		r.TrailingSlash = Refuse
	}
	for range 1 + rnd.IntN(8) {
		p := "GET "
		for i := range 1 + rnd.IntN(4) {
			p += "/" + []string{"a", "b", "ab", "abababab", "x1-yz", fmt.Sprintf("{v%d}", i), fmt.Sprintf("{v%d}", i), fmt.Sprintf("{v%d}.b", i)}[rnd.IntN(8)]
		}
		p += []string{"", "", "/", "/{$}", "/{rest...}"}[rnd.IntN(5)]
		func() {
			defer func() { _ = recover() }() // a conflict
			r.Handle(p, func(*gale.RequestCtx) {})
		}()
	}
	t := r.table().any.known[msg.MethodGet]
	t.fixed = nil // as walk doesn't look at it
	return t
}
