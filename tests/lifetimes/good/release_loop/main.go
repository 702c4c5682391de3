// Package releaseloop: a loop acquires and releases in its body.
//
// category: release
// level: 3
// run: ok
package releaseloop

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	for _, p := range []string{"/a/", "/b/"} {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(upstream.URL + p + string(ctx.QueryArgs().Peek("user")))
		if err := upstream.Client.Do(req, resp); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
		ctx.Write(resp.Body())
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
	}
	audit.Log(string(ctx.Response.Body()))
}
