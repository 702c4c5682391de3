// Package bytespull: a goroutine pulls the values of an iterator when the handler is gone.
//
// category: bytes
// level: 3
// run: object
package bytespull

import (
	"iter"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	next, stop := iter.Pull2(ctx.Request.Header.All()) // BAD:1
	go func() {                                        // BAD:1
		defer stop()
		slow.Work()
		line := "fields"
		for k, v, ok := next(); ok; k, v, ok = next() { // BAD:1
			line += " " + string(k) + "=" + string(v)
		}
		audit.Log(line)
	}()
}
