// Package releaseloop: a loop releases in its body what was acquired before it.
//
// category: release
// level: 3
// run: pool
package releaseloop

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseResponse(resp)
	for _, p := range []string{"/a/", "/b/"} {
		req.SetRequestURI(upstream.URL + p + string(ctx.QueryArgs().Peek("user"))) // BAD:1
		if err := upstream.Client.Do(req, resp); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
		gale.ReleaseRequest(req) // BAD:1
	}
	audit.Log("got " + string(resp.Body()))
}
