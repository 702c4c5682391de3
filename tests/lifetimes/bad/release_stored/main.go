// Package releasestored: a response is kept in a map and released.
//
// category: release
// level: 2
// run: pool
package releasestored

import (
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

var responses = map[string]*gale.Response{}

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp) // BAD:1
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	if err := upstream.Client.Do(req, resp); err != nil {
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	responses[string(ctx.QueryArgs().Peek("user"))] = resp // BAD:1
}

// Show prints a body.
func Show() string { return string(responses["first-user"].Body()) }
