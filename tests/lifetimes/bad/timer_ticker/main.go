// Package timerticker: a goroutine with a ticker writes a slice of the request again and again.
//
// category: timer
// level: 2
// run: bytes
package timerticker

import (
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	token := ctx.Request.Header.Peek("X-Token") // BAD:1
	go func() {                                 // BAD:1
		t := time.NewTicker(time.Millisecond)
		defer t.Stop()
		slow.Work()
		for range 3 {
			<-t.C
		}
		audit.Log("still " + string(token)) // BAD:1
	}()
}
