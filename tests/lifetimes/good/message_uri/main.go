// Package messageuri: a copy of the URI is kept, in an object of the program's own.
//
// category: message
// level: 1
// run: ok
package messageuri

import (
	"github.com/galehttp/gale"
)

var back []*gale.URI

func Handler(ctx *gale.RequestCtx) {
	u := new(gale.URI)
	ctx.URI().CopyTo(u)
	back = append(back, u)
}

// Show prints the first.
func Show() string { return "back to " + string(back[0].FullURI()) }
