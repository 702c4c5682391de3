// Package timerticker: a goroutine with a ticker writes a copy.
//
// category: timer
// level: 2
// run: ok
package timerticker

import (
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	token := string(ctx.Request.Header.Peek("X-Token"))
	go func() {
		t := time.NewTicker(time.Millisecond)
		defer t.Stop()
		slow.Work()
		for range 3 {
			<-t.C
		}
		audit.Log("still " + token)
	}()
}
