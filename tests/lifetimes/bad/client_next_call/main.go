// Package clientnextcall: the body of a response is used when the response was given to another call.
//
// category: client
// level: 1
// run: bytes
package clientnextcall

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	if err := upstream.Client.Do(req, resp); err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	body := resp.Body() // BAD:1
	req.SetRequestURI(upstream.URL + "/settings/of/nobody/in/particular")
	if err := upstream.Client.Do(req, resp); err != nil { // BAD:1
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	audit.Log("fetched " + string(body)) // BAD:1
}
