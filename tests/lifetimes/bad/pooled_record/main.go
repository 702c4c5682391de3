// Package pooledrecord: a struct goes back to the program's pool with slices of the request in it.
//
// category: types
// level: 3
// run: bytes
package pooledrecord

import (
	"github.com/galehttp/gale"
)

type record struct {
	path []byte
	next *record
}

var free *record

func get() *record {
	if free == nil {
		return &record{}
	}
	r := free
	free = r.next
	return r
}

func put(r *record) { free = r }

func Handler(ctx *gale.RequestCtx) {
	r := get()
	if r.path == nil {
		r.path = ctx.Path() // BAD:1
	}
	ctx.Write(r.path)
	put(r) // BAD:1
}

// Show prints what the next user of a record finds in it.
func Show() string { return "found " + string(get().path) }
