// Package storeatomic: an atomic pointer has the first context.
//
// category: store
// level: 1
// run: object
package storeatomic

import (
	"sync/atomic"

	"github.com/galehttp/gale"
)

var first atomic.Pointer[gale.RequestCtx]

func Handler(ctx *gale.RequestCtx) {
	first.CompareAndSwap(nil, ctx) // BAD
}

// Show prints its body.
func Show() string { return string(first.Load().PostBody()) }
