// Package closurebytes: a stored closure captures a copy of the body.
//
// category: closure
// level: 2
// run: ok
package closurebytes

import (
	"bytes"

	"github.com/galehttp/gale"
)

var replay []func() string

func Handler(ctx *gale.RequestCtx) {
	body := bytes.Clone(ctx.PostBody())
	replay = append(replay, func() string { return "again: " + string(body) })
}

// Show replays the first request.
func Show() string { return replay[0]() }
