// Package releaseswitch: each case of a switch either releases and returns, or leaves the release to the end.
//
// category: release
// level: 3
// run: ok
package releaseswitch

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
	switch {
	case err != nil:
		gale.ReleaseRequest(req)
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	case resp.StatusCode() == gale.StatusOK:
		ctx.SetBody(resp.Body())
	}
	audit.Log("asked " + string(req.Host()) + string(req.URI().Path()))
	gale.ReleaseRequest(req)
}
