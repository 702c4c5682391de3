// Package goheadermap: the values of the map are strings.
//
// category: goroutine
// level: 2
// run: ok
package goheadermap

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	headers := map[string]string{}
	ctx.Request.Header.VisitAll(func(k, v []byte) {
		headers[string(k)] = string(v)
	})
	go func() {
		slow.Work()
		audit.Log("token " + headers["X-Token"])
	}()
}
