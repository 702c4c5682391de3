// Package clientmirror: a copy of the request is sent to another server in the background.
//
// category: client
// level: 2
// run: ok
package clientmirror

import (
	"fmt"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req := gale.AcquireRequest()
	ctx.Request.CopyTo(req)
	go func() {
		resp := gale.AcquireResponse()
		defer gale.ReleaseRequest(req)
		defer gale.ReleaseResponse(resp)
		slow.Work()
		req.SetHost("upstream")
		err := upstream.Host.Do(req, resp)
		audit.Log(fmt.Sprint("mirrored ", string(resp.Body()), err))
	}()
}
