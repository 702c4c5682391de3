// Package releasemethod: a method of a struct releases once all others were called.
//
// category: release
// level: 3
// run: ok
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
	*c = call{}
}

func (c *call) body() []byte { return c.resp.Body() }

func Handler(ctx *gale.RequestCtx) {
	c := &call{gale.AcquireRequest(), gale.AcquireResponse()}
	defer c.close()
	c.req.SetRequestURI(upstream.URL + string(ctx.Path()))
	if err := upstream.Client.Do(c.req, c.resp); err == nil {
		audit.Log("got " + string(c.body()))
	}
}
