// Package timeouthandler: a handler that TimeoutHandler leaves behind goes on with its context.
//
// category: goroutine
// level: 2
// after: valyala/fasthttp#76
// run: ok
package timeouthandler

import (
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

// Handler answers after a millisecond, whatever the handler in it does.
var Handler = gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
	slow.Work()
	audit.Log("late " + string(ctx.Path()) + " " + string(ctx.PostBody()))
}, time.Millisecond, "too slow")
