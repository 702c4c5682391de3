// Package bytespull: the values of an iterator are pulled in the handler.
//
// category: bytes
// level: 3
// run: ok
package bytespull

import (
	"iter"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	next, stop := iter.Pull2(ctx.Request.Header.All())
	defer stop()
	line := "fields"
	for k, v, ok := next(); ok; k, v, ok = next() {
		line += " " + string(k) + "=" + string(v)
	}
	audit.Log(line)
}
