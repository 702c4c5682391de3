// Package clientproxy: a handler sends its request on and lets the client fill its response.
//
// category: client
// level: 1
// run: ok
package clientproxy

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.Request.SetHost("upstream")
	if err := upstream.Host.Do(&ctx.Request, &ctx.Response); err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	audit.Log(string(ctx.Response.Body()))
}
