// Package contextafterfunc: a function that runs when the request has ended has copies.
//
// category: context
// level: 2
// run: ok
package contextafterfunc

import (
	"context"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	path := string(ctx.Path())
	context.AfterFunc(ctx.Context(), func() {
		slow.Work()
		audit.Log("left " + path)
	})
}
