// Package rawscratch: the body of the response is a copy of a scratch buffer, or bytes of the request itself.
//
// category: raw
// level: 3
// run: ok
package rawscratch

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

var scratch []byte

func Handler(ctx *gale.RequestCtx) {
	if !ctx.QueryArgs().Has("user") {
		ctx.Response.SetBodyRaw(ctx.PostBody())
		return
	}
	scratch = append(scratch[:0], "hello, "...)
	scratch = append(scratch, ctx.QueryArgs().Peek("user")...)
	ctx.SetBody(scratch)
	audit.Log(string(scratch))
}
