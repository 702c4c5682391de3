// Package contextafterfunc: a function runs when the request has ended, and uses the request.
//
// category: context
// level: 2
// run: object
package contextafterfunc

import (
	"context"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	context.AfterFunc(ctx.Context(), func() { // BAD:1
		slow.Work()
		audit.Log("left " + string(ctx.Path())) // BAD:1
	})
}
