// Package gomethodvalue: a goroutine calls a method value of the context.
//
// category: goroutine
// level: 2
// after: valyala/fasthttp#325
// run: object
package gomethodvalue

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	body := ctx.PostBody // BAD:1
	go func() {          // BAD:1
		slow.Work()
		audit.Log(string(body())) // BAD:1
	}()
	ctx.SetStatusCode(gale.StatusAccepted)
}
