// Package gorecord: the go statement calls a function of the program with the context.
//
// category: goroutine
// level: 1
// after: valyala/fasthttp#325
// run: object
package gorecord

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func record(ctx *gale.RequestCtx, action string) {
	slow.Work()
	audit.Log(action + " by " + string(ctx.QueryArgs().Peek("user")))
}

func Handler(ctx *gale.RequestCtx) {
	go record(ctx, "update") // BAD
	ctx.WriteString("ok")
}
