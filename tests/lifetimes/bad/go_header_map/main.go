// Package goheadermap: a map of header values is built for a goroutine, and the values are slices of the request.
//
// category: goroutine
// level: 2
// after: gofiber/fiber#1294
// run: bytes
package goheadermap

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	headers := map[string][]byte{}
	ctx.Request.Header.VisitAll(func(k, v []byte) { // BAD:1
		headers[string(k)] = v // BAD:1
	})
	go func() { // BAD:1
		slow.Work()
		audit.Log("token " + string(headers["X-Token"])) // BAD:1
	}()
}
