// Package typesgenericcache: a generic cache keeps the results of a function that decodes.
//
// category: types
// level: 2
// run: ok
package typesgenericcache

import (
	"sync"

	"github.com/galehttp/gale"
)

type cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (c *cache[K, V]) load(k K, src []byte, decode func([]byte) V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[K]V{}
	}
	v, ok := c.m[k]
	if !ok {
		v = decode(src)
		c.m[k] = v
	}
	return v
}

var bodies cache[string, string]

func Handler(ctx *gale.RequestCtx) {
	bodies.load(string(ctx.Path()), ctx.PostBody(), func(b []byte) string { return "decoded " + string(b) })
}

// Show prints a body.
func Show() string { return bodies.m["/users/first-user"] }
