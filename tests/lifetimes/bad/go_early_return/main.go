// Package goearlyreturn: one path of the handler returns before it has waited.
//
// category: goroutine
// level: 3
// run: object
package goearlyreturn

import (
	"sync"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { // BAD:1
		defer wg.Done()
		slow.Work()
		audit.Log(string(ctx.Referer())) // BAD:1
	}()
	if ctx.QueryArgs().Has("user") {
		ctx.SetStatusCode(gale.StatusAccepted)
		return
	}
	wg.Wait()
}
