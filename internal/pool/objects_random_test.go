//go:build randompools

package pool

import "testing"

// A Pool returns every object that it has, each once, and sees a second Put.
func TestRandomPool(t *testing.T) {
	var p Pool
	if v := p.Get(); v != nil {
		t.Fatalf("an empty pool without New returned %v", v)
	}
	p.New = func() any { return new(int) }
	put := map[any]bool{}
	for range maxFree {
		v := new(int)
		put[v] = true
		p.Put(v)
	}
	got := map[any]bool{}
	for i := 0; len(got) < maxFree; i++ {
		v := p.Get()
		if got[v] {
			t.Fatal("an object was returned twice")
		}
		if put[v] {
			got[v] = true
		}
		if i > 100*maxFree {
			t.Fatalf("only %d of %d objects were returned", len(got), maxFree)
		}
	}
	v := new(int)
	p.Put(v)
	defer func() {
		if recover() == nil {
			t.Error("a second Put of an object was not seen")
		}
	}()
	p.Put(v)
}
