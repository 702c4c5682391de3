// Package typeswrappergoroutine: a wrapper that embeds the context is used by a goroutine that is waited for.
//
// category: types
// level: 2
// run: ok
package typeswrappergoroutine

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type Ctx struct {
	*gale.RequestCtx
	tenant string
}

func (c Ctx) describe() string { return c.tenant + " " + string(c.Path()) }

func Handler(ctx *gale.RequestCtx) {
	c := Ctx{RequestCtx: ctx, tenant: string(ctx.Host())}
	done := make(chan struct{})
	go func() {
		defer close(done)
		audit.Log(c.describe())
	}()
	<-done
}
