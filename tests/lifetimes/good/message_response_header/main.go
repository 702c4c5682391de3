// Package messageresponseheader: a copy of the response's header is kept.
//
// category: message
// level: 1
// run: ok
package messageresponseheader

import (
	"github.com/galehttp/gale"
)

var headers []*gale.ResponseHeader

func Handler(ctx *gale.RequestCtx) {
	ctx.Response.Header.SetBytesV("X-User", ctx.QueryArgs().Peek("user"))
	h := new(gale.ResponseHeader)
	ctx.Response.Header.CopyTo(h)
	headers = append(headers, h)
}

// Show prints a field of the first.
func Show() string { return "sent " + string(headers[0].Peek("X-User")) }
