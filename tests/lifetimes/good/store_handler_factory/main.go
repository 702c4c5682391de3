// Package storehandlerfactory: a factory's variable, which all requests share, has a string.
//
// category: closure
// level: 3
// run: ok
package storehandlerfactory

import (
	"github.com/galehttp/gale"
)

func newHandler() (gale.RequestHandler, func() string) {
	var last string
	handler := func(ctx *gale.RequestCtx) {
		if last == "" {
			last = string(ctx.Path())
		}
	}
	return handler, func() string { return "last at " + last }
}

var handler, show = newHandler()

func Handler(ctx *gale.RequestCtx) { handler(ctx) }

// Show prints the path.
func Show() string { return show() }
