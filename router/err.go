package router

import "github.com/galehttp/gale"

// Err returns a handler that runs f, and answers an error of it by ctx.Fail with the status that
// gale.ErrorStatus finds in it. If Flush has sent the head already, the response is broken off: see
// RequestCtx.Fail.
func Err(f func(ctx *gale.RequestCtx) error) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if err := f(ctx); err != nil {
			ctx.Fail(gale.ErrorStatus(err), err)
		}
	}
}
