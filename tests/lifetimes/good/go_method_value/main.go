// Package gomethodvalue: a method value is called in the handler, and the goroutine gets a string.
//
// category: goroutine
// level: 2
// run: ok
package gomethodvalue

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	body := ctx.PostBody
	text := string(body())
	go func() {
		slow.Work()
		audit.Log(text)
	}()
	ctx.SetStatusCode(gale.StatusAccepted)
}
