// Package releaseargs: arguments of the pool are released after their last use.
//
// category: release
// level: 1
// run: ok
package releaseargs

import (
	"strconv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	args := gale.AcquireArgs()
	defer gale.ReleaseArgs(args)
	args.ParseBytes(ctx.URI().QueryString())
	user := args.Peek("user")
	audit.Log("user " + string(user) + strconv.Itoa(args.Len()))
}
