// Package clientmirror: the request of the handler is sent to another server in the background.
//
// category: client
// level: 2
// run: object
package clientmirror

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	go func() { // BAD:1
		resp := gale.AcquireResponse()
		defer gale.ReleaseResponse(resp)
		slow.Work()
		ctx.Request.SetHost("upstream") // BAD:1
		if err := upstream.Host.Do(&ctx.Request, resp); err == nil {
			audit.Log("mirrored " + string(resp.Body()))
		}
	}()
}
