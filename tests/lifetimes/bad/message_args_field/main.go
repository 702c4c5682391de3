// Package messageargsfield: a struct that serves all requests keeps the arguments of one.
//
// category: message
// level: 2
// run: object
package messageargsfield

import (
	"github.com/galehttp/gale"
)

type api struct {
	last *gale.Args
}

func (a *api) serve(ctx *gale.RequestCtx) {
	if a.last == nil {
		a.last = ctx.QueryArgs() // BAD
	}
}

var shared = &api{}

// Handler is a method value.
var Handler = shared.serve

// Show prints an argument.
func Show() string { return "user " + string(shared.last.Peek("user")) }
