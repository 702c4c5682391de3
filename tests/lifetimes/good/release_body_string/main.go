// Package releasebodystring: the body is copied before the release of the response.
//
// category: release
// level: 2
// after: dapr/dapr#1839
// run: ok
package releasebodystring

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	err := upstream.Client.Do(req, resp)
	body := append([]byte{}, resp.Body()...)
	gale.ReleaseRequest(req)
	gale.ReleaseResponse(resp)
	if err == nil {
		audit.Log("got " + string(body))
	}
}
