// Package gorecursion: a recursive helper reads the request and keeps nothing.
//
// category: helper
// level: 3
// run: ok
package gorecursion

import (
	"strconv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func descend(ctx *gale.RequestCtx, depth int) int {
	if depth == 0 {
		return len(ctx.Path())
	}
	return 1 + descend(ctx, depth-1)
}

func Handler(ctx *gale.RequestCtx) {
	n := descend(ctx, 3)
	audit.Log(string(ctx.Path()) + " " + strconv.Itoa(n))
}
