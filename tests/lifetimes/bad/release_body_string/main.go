// Package releasebodystring: the body is read after the release of the response.
//
// category: release
// level: 2
// after: valyala/fasthttp#390
// run: bytes
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
	body := resp.Body()
	gale.ReleaseRequest(req)
	gale.ReleaseResponse(resp)
	if err == nil {
		audit.Log("got " + string(body)) // BAD
	}
}
