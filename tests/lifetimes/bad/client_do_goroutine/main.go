// Package clientdogoroutine: a goroutine sends a request that its caller releases.
//
// category: client
// level: 3
// run: pool
package clientdogoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req) // BAD:1
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	go func() { // BAD:1
		slow.Work()
		err := upstream.Host.Do(req, resp) // BAD:1
		audit.Log("sent " + string(resp.Body()))
		if err == nil {
			gale.ReleaseResponse(resp)
		}
	}()
}
