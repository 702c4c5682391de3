// Package gorecursion: a recursive helper starts a goroutine at its deepest level.
//
// category: helper
// level: 3
// run: object
package gorecursion

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func descend(ctx *gale.RequestCtx, depth int) {
	if depth > 0 {
		descend(ctx, depth-1)
		return
	}
	go func() { // BAD:1
		slow.Work()
		audit.Log("leaf of " + string(ctx.Path())) // BAD:1
	}()
}

func Handler(ctx *gale.RequestCtx) {
	descend(ctx, 3) // BAD:1
}
