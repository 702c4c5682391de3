// Package storeatomic: an atomic pointer has a struct of copies.
//
// category: store
// level: 1
// run: ok
package storeatomic

import (
	"sync/atomic"

	"github.com/galehttp/gale"
)

type snapshot struct{ path, body string }

var first atomic.Pointer[snapshot]

func Handler(ctx *gale.RequestCtx) {
	first.CompareAndSwap(nil, &snapshot{path: string(ctx.Path()), body: string(ctx.PostBody())})
}

// Show prints its body.
func Show() string { return first.Load().body }
