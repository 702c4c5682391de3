// Package releaseswitch: one case of a switch releases a request that the code after it uses.
//
// category: release
// level: 3
// run: pool
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
		gale.ReleaseRequest(req)
		ctx.SetBody(resp.Body())
	}
	audit.Log("asked " + string(req.Host()) + string(req.URI().Path())) // BAD
}
