// Package releasethenuse: what is needed of a request is copied before its release.
//
// category: release
// level: 1
// run: ok
package releasethenuse

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	err := upstream.Client.Do(req, resp)
	asked := string(req.RequestURI())
	gale.ReleaseRequest(req)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	audit.Log("asked for " + asked)
}
