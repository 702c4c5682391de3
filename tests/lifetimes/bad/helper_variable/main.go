// Package helpervariable: a variable of the package has the function that starts the goroutine.
//
// category: helper
// level: 3
// run: object
package helpervariable

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

var notify = func(ctx *gale.RequestCtx, what string) {
	go func() { // BAD:1
		slow.Work()
		audit.Log(what + " " + string(ctx.Path())) // BAD:1
	}()
}

func Handler(ctx *gale.RequestCtx) {
	notify(ctx, "changed") // BAD:1
}
