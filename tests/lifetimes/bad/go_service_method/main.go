// Package goservicemethod: a method of a struct with the context runs in a goroutine.
//
// category: goroutine
// level: 2
// run: object
package goservicemethod

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type job struct {
	ctx  *gale.RequestCtx
	kind string
}

func (j *job) run() {
	slow.Work()
	audit.Log(j.kind + " " + string(j.ctx.Host()))
}

func Handler(ctx *gale.RequestCtx) {
	j := &job{ctx: ctx, kind: "mail"} // BAD:1
	go j.run()                        // BAD:1
}
