// Package gopollresult: the handler receives the result before it returns.
//
// category: goroutine
// level: 3
// run: ok
package gopollresult

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	result := make(chan string, 1)
	go func() {
		result <- string(ctx.Request.Header.Cookie("sid"))
	}()
	sid := <-result
	ctx.WriteString(sid)
	audit.Log("session " + sid)
}
