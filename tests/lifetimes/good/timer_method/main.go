// Package timermethod: a timer that would use the context is stopped, or has run, when the handler returns.
//
// category: timer
// level: 2
// run: ok
package timermethod

import (
	"time"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	fired := make(chan struct{})
	t := time.AfterFunc(time.Hour, func() {
		defer close(fired)
		ctx.SetStatusCode(gale.StatusGatewayTimeout)
	})
	audit.Log("in time " + string(ctx.QueryArgs().Peek("user")))
	if !t.Stop() {
		<-fired
	}
}
