// Package rawpool: a buffer is put back into its pool when the response was sent.
//
// category: raw
// level: 3
// run: ok
package rawpool

import (
	"sync"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type page struct{ buf []byte }

var pages = sync.Pool{New: func() any { return new(page) }}

func Handler(ctx *gale.RequestCtx) {
	p := pages.Get().(*page)
	p.buf = append(p.buf[:0], ctx.QueryArgs().Peek("user")...)
	ctx.Response.SetBodyRaw(p.buf)
	ctx.AfterSend(func(int64, error) {
		audit.Log(string(p.buf))
		pages.Put(p)
	})
}
