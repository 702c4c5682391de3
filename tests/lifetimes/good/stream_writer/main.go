// Package streamwriter: the function that writes the body of the response has copies.
//
// category: stream
// level: 1
// run: ok
package streamwriter

import (
	"bufio"
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	var args gale.Args
	ctx.QueryArgs().CopyTo(&args)
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		for k, v := range args.All() {
			fmt.Fprintf(w, "%s: %s\n", k, v)
		}
		audit.Log("streamed " + string(args.Peek("user")))
	})
}
