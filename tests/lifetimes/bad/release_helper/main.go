// Package releasehelper: a helper releases what its caller goes on to use.
//
// category: release
// level: 2
// run: pool
package releasehelper

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func finish(req *gale.Request, resp *gale.Response) {
	gale.ReleaseRequest(req)
	gale.ReleaseResponse(resp)
}

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	err := upstream.Client.Do(req, resp)
	finish(req, resp)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	audit.Log("got " + string(resp.Body())) // BAD
}
