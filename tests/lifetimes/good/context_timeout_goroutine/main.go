// Package contexttimeoutgoroutine: a goroutine waits for a context that is derived from the request, and cancels it.
//
// category: context
// level: 3
// run: ok
package contexttimeoutgoroutine

import (
	"context"
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	c, cancel := context.WithTimeout(ctx, time.Minute)
	path := string(ctx.Path())
	go func() {
		defer cancel()
		<-c.Done()
		slow.Work()
		if c.Err() != nil {
			audit.Log("ended " + path)
		}
	}()
}
