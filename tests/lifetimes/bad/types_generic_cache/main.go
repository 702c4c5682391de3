// Package typesgenericcache: a generic cache keeps a body.
//
// category: types
// level: 2
// run: bytes
package typesgenericcache

import (
	"sync"

	"github.com/galehttp/gale"
)

type cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (c *cache[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[K]V{}
	}
	c.m[k] = v // BAD:1
}

var bodies cache[string, []byte]

func Handler(ctx *gale.RequestCtx) {
	bodies.put(string(ctx.Path()), ctx.PostBody()) // BAD:1
}

// Show prints a body.
func Show() string { return string(bodies.m["/users/first-user"]) }
