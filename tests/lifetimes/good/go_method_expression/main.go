// Package gomethodexpression: a deferred call of a method expression ends before the handler does.
//
// category: goroutine
// level: 3
// run: ok
package gomethodexpression

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type visitor struct{ *gale.RequestCtx }

func (v visitor) log() { audit.Log("visited " + string(v.Path())) }

func Handler(ctx *gale.RequestCtx) {
	defer visitor.log(visitor{ctx})
	ctx.WriteString("ok")
}
