// Package releasemethod: a method of a struct releases what another method uses afterwards.
//
// category: release
// level: 3
// run: pool
package releasemethod

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

type call struct {
	req  *gale.Request
	resp *gale.Response
}

func (c *call) close() {
	gale.ReleaseRequest(c.req)
	gale.ReleaseResponse(c.resp)
}

func (c *call) body() []byte { return c.resp.Body() }

func Handler(ctx *gale.RequestCtx) {
	c := &call{gale.AcquireRequest(), gale.AcquireResponse()}
	c.req.SetRequestURI(upstream.URL + string(ctx.Path()))
	err := upstream.Client.Do(c.req, c.resp)
	c.close() // BAD:1
	if err == nil {
		audit.Log("got " + string(c.body())) // BAD:1
	}
}
