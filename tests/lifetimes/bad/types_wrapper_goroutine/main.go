// Package typeswrappergoroutine: a wrapper that embeds the context is used by a goroutine.
//
// category: types
// level: 2
// run: object
package typeswrappergoroutine

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type Ctx struct {
	*gale.RequestCtx
	tenant string
}

func (c Ctx) describe() string { return c.tenant + " " + string(c.Path()) }

func Handler(ctx *gale.RequestCtx) {
	c := Ctx{RequestCtx: ctx, tenant: string(ctx.Host())}
	go func() { // BAD:1
		slow.Work()
		audit.Log(c.describe()) // BAD:1
	}()
}
