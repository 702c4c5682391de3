package router

import "github.com/galehttp/gale"

// Err returns a handler that runs f, and answers an error of it by ctx.Fail with the status that
// gale.ErrorStatus finds in it. If Flush has sent the head already, the response is broken off: see
// RequestCtx.Fail.
//
// An error that has no status, such as one of a database, is answered with 400, and the client gets its text. Return a
// gale.HandlerError to choose the status: with 500 and above, err is logged, and its text isn't sent.
func Err(f func(ctx *gale.RequestCtx) error) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		if err := f(ctx); err != nil {
			ctx.Fail(gale.ErrorStatus(err), err)
		}
	}
}
