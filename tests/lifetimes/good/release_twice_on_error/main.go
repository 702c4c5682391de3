// Package releasetwiceonerror: each path releases once.
//
// category: release
// level: 2
// run: ok
package releasetwiceonerror

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func fetch(path string, want int) error {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	req.SetRequestURI(upstream.URL + path)
	err := upstream.Client.Do(req, resp)
	gale.ReleaseRequest(req)
	if err != nil {
		gale.ReleaseResponse(resp)
		return err
	}
	if resp.StatusCode() != want {
		gale.ReleaseResponse(resp)
		return gale.ErrNoArgValue
	}
	gale.ReleaseResponse(resp)
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	err := fetch(string(ctx.Path()), gale.StatusCreated)
	audit.Log("first-user: " + err.Error())
}
