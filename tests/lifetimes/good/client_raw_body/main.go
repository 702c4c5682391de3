// Package clientrawbody: a request of the program's own has a copy of the body.
//
// category: client
// level: 3
// run: ok
package clientrawbody

import (
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

var outbox []*gale.Request

func Handler(ctx *gale.RequestCtx) {
	req := new(gale.Request)
	req.SetRequestURI(upstream.URL + "/")
	req.SetBody(ctx.PostBody())
	outbox = append(outbox, req)
}

// Show prints the first body.
func Show() string { return string(outbox[0].Body()) }
