// Package clientrawbody: a request of the program's own keeps the body of the handler's request without a copy.
//
// category: client
// level: 3
// run: bytes
package clientrawbody

import (
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

var outbox []*gale.Request

func Handler(ctx *gale.RequestCtx) {
	req := new(gale.Request)
	req.SetRequestURI(upstream.URL + "/")
	req.SetBodyRaw(ctx.PostBody()) // BAD:1
	outbox = append(outbox, req)   // BAD:1
}

// Show prints the first body.
func Show() string { return string(outbox[0].Body()) }
