// Package messageuri: the URI of the request is kept for a redirect later.
//
// category: message
// level: 1
// run: object
package messageuri

import (
	"github.com/galehttp/gale"
)

var back []*gale.URI

func Handler(ctx *gale.RequestCtx) {
	back = append(back, ctx.URI()) // BAD
}

// Show prints the first.
func Show() string { return "back to " + string(back[0].FullURI()) }
