// Package godeadlinebranch: the branch of the time limit gives the context away with TimeoutError.
//
// category: goroutine
// level: 3
// after: valyala/fasthttp#146
// run: ok
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
	go func() {
		slow.Work()
		answer := "checked " + string(ctx.Path())
		audit.Log(answer)
		answers <- answer
	}()
	select {
	case a := <-answers:
		ctx.WriteString(a)
	case <-limit.Done():
		ctx.TimeoutErrorWithCode("too slow", gale.StatusGatewayTimeout)
	}
}
