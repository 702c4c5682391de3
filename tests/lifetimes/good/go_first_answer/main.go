// Package gofirstanswer: both goroutines have sent when the handler returns.
//
// category: goroutine
// level: 3
// after: valyala/fasthttp#1257
// run: ok
package gofirstanswer

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	found := make(chan string)
	go func() { found <- string(ctx.Request.Header.Cookie("sid")) }()
	go func() { found <- string(ctx.QueryArgs().Peek("user")) }()
	first, second := <-found, <-found
	audit.Log(first + " " + second)
}
