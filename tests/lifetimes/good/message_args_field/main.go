// Package messageargsfield: a struct that serves all requests has a copy of the arguments of one.
//
// category: message
// level: 2
// run: ok
package messageargsfield

import (
	"github.com/galehttp/gale"
)

type api struct {
	last gale.Args
}

func (a *api) serve(ctx *gale.RequestCtx) {
	if a.last.Len() == 0 {
		ctx.QueryArgs().CopyTo(&a.last)
	}
}

var shared = &api{}

// Handler is a method value.
var Handler = shared.serve

// Show prints an argument.
func Show() string { return "user " + string(shared.last.Peek("user")) }
