// Package goservicemethod: the struct that the goroutine uses has copies.
//
// category: goroutine
// level: 2
// run: ok
package goservicemethod

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type job struct {
	host string
	kind string
}

func (j *job) run() {
	slow.Work()
	audit.Log(j.kind + " " + j.host)
}

func Handler(ctx *gale.RequestCtx) {
	j := &job{host: string(ctx.Host()), kind: "mail"}
	go j.run()
}
