// Package closurecleanuplist: a list of closures is local and runs before the handler returns.
//
// category: closure
// level: 1
// run: ok
package closurecleanuplist

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	var cleanups []func() string
	for _, what := range []string{"file", "lock"} {
		cleanups = append(cleanups, func() string { return what + " of " + string(ctx.Path()) })
	}
	for _, f := range cleanups {
		ctx.WriteString(f())
	}
	audit.Log(cleanups[0]())
}
