// Package streamreader: a reader that is the body of the response has a copy of the request's body.
//
// category: stream
// level: 3
// run: ok
package streamreader

import (
	"bytes"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.SetBodyStream(bytes.NewReader(bytes.Clone(ctx.PostBody())), -1)
	audit.Log(string(ctx.Path()))
}
