// Package hijackhandler: the function that takes over the connection reads the request.
//
// category: stream
// level: 2
// run: vet
package hijackhandler

import (
	"fmt"
	"net"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.Hijack(func(c net.Conn) { // BAD:1
		fmt.Fprintf(c, "hello, %s", ctx.QueryArgs().Peek("user")) // BAD:1
		audit.Log(string(ctx.QueryArgs().Peek("user")))           // BAD:1
	})
}
