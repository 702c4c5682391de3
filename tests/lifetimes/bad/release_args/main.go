// Package releaseargs: arguments of the pool are read after their release.
//
// category: release
// level: 1
// run: pool
package releaseargs

import (
	"strconv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	args := gale.AcquireArgs()
	args.ParseBytes(ctx.URI().QueryString())
	user := args.Peek("user")
	gale.ReleaseArgs(args)
	audit.Log("user " + string(user) + strconv.Itoa(args.Len())) // BAD
}
