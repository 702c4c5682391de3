// Package godeadlinebranch: the handler waits for its goroutine, but a time limit lets it leave before.
//
// category: goroutine
// level: 3
// after: valyala/fasthttp#146 gofiber/fiber#4560
// run: object
package godeadlinebranch

import (
	"context"
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	limit, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	answers := make(chan string, 1)
	go func() { // BAD:1
		slow.Work()
		answer := "checked " + string(ctx.Path()) // BAD:1
		audit.Log(answer)
		answers <- answer
	}()
	select {
	case a := <-answers:
		ctx.WriteString(a)
	case <-limit.Done():
		ctx.SetStatusCode(gale.StatusGatewayTimeout)
	}
}
