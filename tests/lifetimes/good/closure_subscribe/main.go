// Package closuresubscribe: a bus in another package calls the function for the events that there are.
//
// category: crosspkg
// level: 2
// run: ok
package closuresubscribe

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/good/closure_subscribe/bus"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	bus.Each(func(event string) {
		ctx.WriteString(event + " for " + string(ctx.QueryArgs().Peek("user")))
	})
	audit.Log("read by " + string(ctx.QueryArgs().Peek("user")))
}
