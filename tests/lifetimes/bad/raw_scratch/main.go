// Package rawscratch: the body of the response is a scratch buffer that the next request overwrites.
//
// category: raw
// level: 3
// run: vet
package rawscratch

import (
	"github.com/galehttp/gale"
)

var scratch []byte

func Handler(ctx *gale.RequestCtx) {
	scratch = append(scratch[:0], "hello, "...)
	scratch = append(scratch, ctx.QueryArgs().Peek("user")...)
	ctx.Response.SetBodyRaw(scratch) // BAD
}
