// Package timermethod: a timer calls a method of a struct that has the context.
//
// category: timer
// level: 2
// run: object
package timermethod

import (
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type reminder struct {
	ctx *gale.RequestCtx
}

func (r *reminder) fire() {
	slow.Work()
	audit.Log("remind " + string(r.ctx.QueryArgs().Peek("user")))
}

func Handler(ctx *gale.RequestCtx) {
	r := &reminder{ctx: ctx}                 // BAD:1
	time.AfterFunc(time.Millisecond, r.fire) // BAD:1
}
