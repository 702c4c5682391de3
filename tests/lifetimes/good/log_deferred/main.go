// Package logdeferred: a deferred call queues an access log line that was formatted.
//
// category: log
// level: 2
// run: ok
package logdeferred

import (
	"fmt"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

var lines = make(chan string, 64)

func init() {
	go func() {
		for l := range lines {
			slow.Work()
			audit.Log(l)
		}
	}()
}

func accessLog(ctx *gale.RequestCtx) {
	lines <- fmt.Sprintf("%s %s", ctx.Method(), ctx.RequestURI())
}

func Handler(ctx *gale.RequestCtx) {
	defer accessLog(ctx)
	ctx.WriteString("ok")
}
