// Package storeringgeneric: a generic ring buffer keeps strings.
//
// category: types
// level: 2
// run: ok
package storeringgeneric

import (
	"github.com/galehttp/gale"
)

type ring[T any] struct {
	items [8]T
	n     int
}

func (r *ring[T]) push(v T) {
	r.items[r.n%len(r.items)] = v
	r.n++
}

var recent ring[string]

func Handler(ctx *gale.RequestCtx) {
	recent.push(ctx.QueryArgs().String())
}

// Show prints the first query.
func Show() string { return recent.items[0] }
