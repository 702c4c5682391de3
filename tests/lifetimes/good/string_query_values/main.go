// Package stringqueryvalues: url.ParseQuery returns parts of a real string.
//
// category: string
// level: 2
// run: ok
package stringqueryvalues

import (
	"net/url"

	"github.com/galehttp/gale"
)

var searches []url.Values

func Handler(ctx *gale.RequestCtx) {
	v, err := url.ParseQuery(string(ctx.URI().QueryString()))
	if err == nil {
		searches = append(searches, v)
	}
}

// Show prints a value of the first.
func Show() string { return "searched " + searches[0].Get("user") }
