// Package storeringgeneric: a generic ring buffer keeps the contexts.
//
// category: types
// level: 2
// run: object
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

var recent ring[*gale.RequestCtx]

func Handler(ctx *gale.RequestCtx) {
	recent.push(ctx) // BAD
}

// Show prints the query of the first.
func Show() string { return recent.items[0].QueryArgs().String() }
