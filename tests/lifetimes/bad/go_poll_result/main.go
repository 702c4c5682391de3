// Package gopollresult: the handler looks for a result once and doesn't wait for it.
//
// category: goroutine
// level: 3
// run: object
package gopollresult

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	result := make(chan string, 1)
	go func() { // BAD:1
		slow.Work()
		sid := string(ctx.Request.Header.Cookie("sid")) // BAD:1
		audit.Log("session " + sid)
		result <- sid
	}()
	select {
	case sid := <-result:
		ctx.WriteString(sid)
	default:
		ctx.SetStatusCode(gale.StatusAccepted)
	}
}
