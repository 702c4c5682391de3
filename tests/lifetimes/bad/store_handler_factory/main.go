// Package storehandlerfactory: a factory's variable, which all requests share, keeps the last context.
//
// category: closure
// level: 3
// run: object
package storehandlerfactory

import (
	"github.com/galehttp/gale"
)

func newHandler() (gale.RequestHandler, func() string) {
	var last *gale.RequestCtx
	handler := func(ctx *gale.RequestCtx) {
		if last == nil {
			last = ctx // BAD
		}
	}
	return handler, func() string { return "last at " + string(last.Path()) }
}

var handler, show = newHandler()

func Handler(ctx *gale.RequestCtx) { handler(ctx) }

// Show prints the path.
func Show() string { return show() }
