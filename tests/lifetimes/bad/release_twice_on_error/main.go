// Package releasetwiceonerror: an error path releases what a deferred call releases too.
//
// category: release
// level: 2
// run: pool
package releasetwiceonerror

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func fetch(path string, want int) error {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp) // BAD:1
	req.SetRequestURI(upstream.URL + path)
	if err := upstream.Client.Do(req, resp); err != nil {
		return err
	}
	if resp.StatusCode() != want {
		gale.ReleaseResponse(resp) // BAD:1
		return gale.ErrNoArgValue
	}
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	err := fetch(string(ctx.Path()), gale.StatusCreated)
	audit.Log("fetch: " + err.Error())
}
