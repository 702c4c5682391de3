// Package atreugogoroutine: a view of atreugo uses its context in a goroutine.
//
// category: goroutine
// level: 2
// run: framework
package atreugogoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/savsgio/atreugo/v11"
	"github.com/valyala/fasthttp"
)

func view(ctx *atreugo.RequestCtx) error {
	go func() { // BAD:1
		slow.Work()
		audit.Log("agent " + string(ctx.UserAgent())) // BAD:1
	}()
	return ctx.TextResponse("ok")
}

// Handler calls the view as atreugo does.
func Handler(ctx *fasthttp.RequestCtx) {
	c := atreugo.AcquireRequestCtx(ctx)
	defer atreugo.ReleaseRequestCtx(c)
	if err := view(c); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}
