// Package logdeferred: a deferred call queues an access log line with slices of the request.
//
// category: log
// level: 2
// run: bytes
package logdeferred

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type line struct{ method, uri []byte }

var lines = make(chan line, 64)

func init() {
	go func() {
		for l := range lines {
			slow.Work()
			audit.Log(string(l.method) + " " + string(l.uri))
		}
	}()
}

func accessLog(ctx *gale.RequestCtx) {
	lines <- line{ctx.Method(), ctx.RequestURI()} // BAD:1
}

func Handler(ctx *gale.RequestCtx) {
	defer accessLog(ctx) // BAD:1
	ctx.WriteString("ok")
}
