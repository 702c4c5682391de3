// Package closurecleanuplist: closures that use the context wait in a list of the package.
//
// category: closure
// level: 1
// run: object
package closurecleanuplist

import (
	"github.com/galehttp/gale"
)

var cleanups []func() string

func Handler(ctx *gale.RequestCtx) {
	cleanups = append(cleanups, func() string { // BAD:1
		return "closed " + string(ctx.Path()) // BAD:1
	})
}

// Show runs the oldest.
func Show() string { return cleanups[0]() }
