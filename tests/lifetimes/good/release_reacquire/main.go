// Package releasereacquire: a variable gets a new object after the release of the old one.
//
// category: release
// level: 2
// run: ok
package releasereacquire

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	args := gale.AcquireArgs()
	args.Set("user", "nobody")
	gale.ReleaseArgs(args)
	args = gale.AcquireArgs()
	args.SetBytesV("user", ctx.QueryArgs().Peek("user"))
	audit.Log(args.String())
	gale.ReleaseArgs(args)
}
