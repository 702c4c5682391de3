// Package releasestored: a response is kept in a map, and released when it is replaced.
//
// category: release
// level: 2
// run: ok
package releasestored

import (
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

var responses = map[string]*gale.Response{}

func Handler(ctx *gale.RequestCtx) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	req.SetRequestURI(upstream.URL + string(ctx.Path()))
	if err := upstream.Client.Do(req, resp); err != nil {
		gale.ReleaseResponse(resp)
		ctx.Error(err.Error(), gale.StatusBadGateway)
		return
	}
	user := string(ctx.QueryArgs().Peek("user"))
	if old := responses[user]; old != nil {
		gale.ReleaseResponse(old)
	}
	responses[user] = resp
}

// Show prints a body.
func Show() string { return string(responses["first-user"].Body()) }
