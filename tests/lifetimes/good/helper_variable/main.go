// Package helpervariable: a variable of the package has a function that keeps nothing.
//
// category: helper
// level: 3
// run: ok
package helpervariable

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

var describe = func(ctx *gale.RequestCtx, what string) string {
	return what + " " + string(ctx.Path())
}

func Handler(ctx *gale.RequestCtx) {
	line := describe(ctx, "changed")
	go func() {
		slow.Work()
		audit.Log(line)
	}()
}
