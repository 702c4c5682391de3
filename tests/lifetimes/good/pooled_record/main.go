// Package pooledrecord: a struct forgets the slices of the request before it goes back to the program's pool.
//
// category: types
// level: 3
// run: ok
package pooledrecord

import (
	"sync"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type record struct{ path, body []byte }

var records = sync.Pool{New: func() any { return new(record) }}

func Handler(ctx *gale.RequestCtx) {
	r := records.Get().(*record)
	defer func() {
		*r = record{}
		records.Put(r)
	}()
	r.path, r.body = ctx.Path(), ctx.PostBody()
	audit.Log(string(r.path) + " " + string(r.body))
}
