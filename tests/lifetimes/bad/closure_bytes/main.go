// Package closurebytes: a stored closure captures the body, not the context.
//
// category: closure
// level: 2
// run: bytes
package closurebytes

import (
	"github.com/galehttp/gale"
)

var replay []func() string

func Handler(ctx *gale.RequestCtx) {
	body := ctx.PostBody()                  // BAD:1
	replay = append(replay, func() string { // BAD:1
		return "again: " + string(body) // BAD:1
	})
}

// Show replays the first request.
func Show() string { return replay[0]() }
