// Package hijackhandler: the function that takes over the connection has a copy.
//
// category: stream
// level: 2
// run: ok
package hijackhandler

import (
	"fmt"
	"net"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	user := string(ctx.QueryArgs().Peek("user"))
	ctx.Hijack(func(c net.Conn) {
		fmt.Fprintf(c, "hello, %s", user)
		audit.Log("hijacked by " + user)
	})
}
