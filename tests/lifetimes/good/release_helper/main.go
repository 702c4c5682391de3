// Package releasehelper: a helper releases what its caller has done with.
//
// category: release
// level: 2
// run: ok
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
	defer finish(req, resp)
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	if err := upstream.Client.Do(req, resp); err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	audit.Log("got " + string(resp.Body()))
}
