// Package closuresubscribe: a bus in another package keeps the callback.
//
// category: crosspkg
// level: 2
// run: object
package closuresubscribe

import (
	"example.com/lifetimes/bad/closure_subscribe/bus"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	bus.Subscribe(func(event string) string { // BAD:1
		return event + " for " + string(ctx.QueryArgs().Peek("user")) // BAD:1
	})
}

// Show publishes an event.
func Show() string { return bus.Publish("ready") }
