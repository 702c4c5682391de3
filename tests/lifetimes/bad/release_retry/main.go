// Package releaseretry: a closure keeps the body of a response that it releases with defer.
//
// category: release
// level: 3
// after: valyala/fasthttp#955
// run: bytes
package releaseretry

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

func retry(attempts int, f func() error) (err error) {
	for range attempts {
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}

func Handler(ctx *gale.RequestCtx) {
	var body []byte
	err := retry(3, func() error {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		defer gale.ReleaseRequest(req)
		defer gale.ReleaseResponse(resp)
		req.SetRequestURI(upstream.URL + string(ctx.Path()))
		if err := upstream.Client.Do(req, resp); err != nil {
			return err
		}
		body = resp.Body() // BAD:1
		return nil
	})
	if err == nil {
		audit.Log("got " + string(body)) // BAD:1
	}
}
