// Package gosemaphore: a semaphore limits how many handlers do something at a time.
//
// category: group
// level: 3
// run: ok
package gosemaphore

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

var limit = make(chan struct{}, 8)

func limited(f func()) {
	limit <- struct{}{}
	defer func() { <-limit }()
	f()
}

func Handler(ctx *gale.RequestCtx) {
	limited(func() {
		audit.Log("resized " + string(ctx.Path()))
	})
}
