// Package streamwriter: the function that writes the body of the response reads the query.
//
// category: stream
// level: 1
// after: gofiber/fiber#2837
// run: stream
package streamwriter

import (
	"bufio"
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	args := ctx.QueryArgs()                         // BAD:1
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // BAD:1
		for k, v := range args.All() { // BAD:1
			fmt.Fprintf(w, "%s: %s\n", k, v)
		}
		audit.Log("streamed " + string(args.Peek("user"))) // BAD:1
	})
}
