// Package messageresponseheader: the header of the response is kept by pointer.
//
// category: message
// level: 1
// run: object
package messageresponseheader

import (
	"github.com/galehttp/gale"
)

var headers []*gale.ResponseHeader

func Handler(ctx *gale.RequestCtx) {
	ctx.Response.Header.SetBytesV("X-User", ctx.QueryArgs().Peek("user"))
	headers = append(headers, &ctx.Response.Header) // BAD
}

// Show prints a field of the first.
func Show() string { return "sent " + string(headers[0].Peek("X-User")) }
