// Package clientdogoroutine: a goroutine sends a request and releases it.
//
// category: client
// level: 3
// run: ok
package clientdogoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	go func() {
		defer gale.ReleaseRequest(req)
		defer gale.ReleaseResponse(resp)
		slow.Work()
		if err := upstream.Host.Do(req, resp); err != nil {
			audit.Log(err.Error())
			return
		}
		audit.Log("sent " + string(resp.Body()))
	}()
}
