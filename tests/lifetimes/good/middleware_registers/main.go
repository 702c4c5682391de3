// Package middlewareregisters: a middleware changes what the handler gets and logs what it did.
//
// category: closure
// level: 3
// run: ok
package middlewareregisters

import (
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func withLog(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("agent", ctx.Request.Header.UserAgent())
		defer func() { audit.Log(fmt.Sprintf("agent %s, %d", ctx.UserValue("agent"), ctx.Response.StatusCode())) }()
		next(ctx)
	}
}

// Handler runs after the middleware.
var Handler = withLog(func(ctx *gale.RequestCtx) { ctx.WriteString("ok") })
