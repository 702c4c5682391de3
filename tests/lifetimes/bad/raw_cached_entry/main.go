// Package rawcachedentry: a cache entry is used as the body, and later filled from a request.
//
// category: raw
// level: 3
// run: bytes
package rawcachedentry

import (
	"github.com/galehttp/gale"
)

var banner []byte

func Handler(ctx *gale.RequestCtx) {
	if banner == nil {
		banner = ctx.Request.Header.Peek("X-Token") // BAD
	}
	ctx.Response.SetBodyRaw(banner)
}

// Show prints it.
func Show() string { return "banner " + string(banner) }
