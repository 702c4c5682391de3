// Package streampath: the function that writes the body of the response has bytes of the path.
//
// category: stream
// level: 1
// run: paged
package streampath

import (
	"bufio"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	path := ctx.Path()                              // BAD:1
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // BAD:1
		w.Write(path)                         // BAD:1
		audit.Log("streamed " + string(path)) // BAD:1
	})
}
