// Package goearlyreturn: a deferred call waits on all paths.
//
// category: goroutine
// level: 3
// run: ok
package goearlyreturn

import (
	"sync"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	var wg sync.WaitGroup
	wg.Add(1)
	defer wg.Wait()
	go func() {
		defer wg.Done()
		audit.Log(string(ctx.Referer()))
	}()
	if ctx.QueryArgs().Has("user") {
		ctx.SetStatusCode(gale.StatusAccepted)
		return
	}
	ctx.WriteString("ok")
}
