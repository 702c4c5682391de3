// Package streampath: the function that writes the body of the response has a copy of the path.
//
// category: stream
// level: 1
// run: ok
package streampath

import (
	"bufio"
	"bytes"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	path := bytes.Clone(ctx.Path())
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		w.Write(path)
		audit.Log("streamed " + string(path))
	})
}
