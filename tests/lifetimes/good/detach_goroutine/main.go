// Package detachgoroutine: a context that was detached belongs to the program.
//
// category: goroutine
// level: 1
// run: ok
package detachgoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.Detach()
	go func() {
		slow.Work()
		audit.Log(string(ctx.Path()) + " " + string(ctx.PostBody()))
	}()
}
