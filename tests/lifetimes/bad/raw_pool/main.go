// Package rawpool: a buffer is put back into its pool while the response refers to it.
//
// category: raw
// level: 3
// run: vet
package rawpool

import (
	"sync"

	"github.com/galehttp/gale"
)

type page struct{ buf []byte }

var pages = sync.Pool{New: func() any { return new(page) }}

func render(p *page, user []byte) []byte {
	p.buf = append(p.buf[:0], "<p>"...)
	p.buf = append(p.buf, user...)
	return append(p.buf, "</p>"...)
}

func Handler(ctx *gale.RequestCtx) {
	p := pages.Get().(*page)
	ctx.Response.SetBodyRaw(render(p, ctx.QueryArgs().Peek("user"))) // BAD:1
	pages.Put(p)                                                     // BAD:1
}
