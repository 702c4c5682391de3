// Package gofirstanswer: the first of two goroutines is waited for, the other one goes on.
//
// category: goroutine
// level: 3
// after: valyala/fasthttp#1257
// run: object
package gofirstanswer

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	found := make(chan string, 2)
	go func() {
		found <- "header"
	}()
	go func() { // BAD:1
		slow.Work()
		token := string(ctx.Request.Header.Peek("X-Token")) // BAD:1
		audit.Log("also " + token)
		found <- token
	}()
	ctx.WriteString(<-found)
}
