//go:build randompools

package pool

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// maxFree is how many objects a Pool keeps. One more replaces another one.
const maxFree = 64

// Pool has the methods of sync.Pool. Get returns a random one of the objects that
// were put into the pool, or sometimes a new one although the pool has others. So
// an object often goes to another user soon, which a sync.Pool avoids. Put panics
// if the pool has the object already. This Pool is for tests: it is slow, and it
// never drops objects for the garbage collector.
type Pool struct {
	// New makes an object if the pool has none, as in sync.Pool.
	New func() any

	mu   sync.Mutex
	free []any
}

// checksPuts says whether a second Put of the same object panics.
const checksPuts = true

// source is seeded by GALE_POOL_SEED, so that tests with one goroutine can be
// repeated.
var source = struct {
	sync.Mutex
	*rand.Rand
}{Rand: rand.New(rand.NewPCG(seed(), 1))}

func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("GALE_POOL_SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64()
}

func random(n int) int {
	source.Lock()
	defer source.Unlock()
	return source.IntN(n)
}

// Get returns an object of the pool, or what New returns, or nil.
func (p *Pool) Get() any {
	p.mu.Lock()
	n := len(p.free)
	if n == 0 || random(16) == 0 {
		p.mu.Unlock()
		if p.New == nil {
			return nil
		}
		return p.New()
	}
	i := random(n)
	v := p.free[i]
	p.free[i] = p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	p.mu.Unlock()
	return v
}

// Put gives the pool an object. nil is ignored.
func (p *Pool) Put(v any) {
	if v == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.free {
		if other == v {
			panic(fmt.Sprintf("pool: %T was put into its pool twice", v))
		}
	}
	if len(p.free) < maxFree {
		p.free = append(p.free, v)
		return
	}
	p.free[random(maxFree)] = v
}
