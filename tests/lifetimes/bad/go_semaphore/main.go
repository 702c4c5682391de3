// Package gosemaphore: a semaphore limits the goroutines, and the handler waits for none of them.
//
// category: group
// level: 3
// run: object
package gosemaphore

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

var limit = make(chan struct{}, 8)

func limited(f func()) {
	limit <- struct{}{}
	go func() {
		defer func() { <-limit }()
		f()
	}()
}

func Handler(ctx *gale.RequestCtx) {
	limited(func() { // BAD:1
		slow.Work()
		audit.Log("resized " + string(ctx.Path())) // BAD:1
	})
}
