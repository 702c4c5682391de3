// Package middlewareregisters: a middleware gives its context to a function that runs at shutdown.
//
// category: closure
// level: 3
// run: object
package middlewareregisters

import (
	"github.com/galehttp/gale"
)

var atExit []func() string

func onExit(f func() string) { atExit = append(atExit, f) }

func withCleanup(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		onExit(func() string { return "last: " + string(ctx.Request.Header.UserAgent()) }) // BAD
		next(ctx)
	}
}

// Handler runs after the middleware.
var Handler = withCleanup(func(ctx *gale.RequestCtx) { ctx.WriteString("ok") })

// Show runs the first function.
func Show() string { return atExit[0]() }
