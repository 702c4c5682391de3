// Package stringmethodmap: a struct with an unsafe string is looked up in a map.
//
// category: string
// level: 3
// run: ok
package stringmethodmap

import (
	"unsafe"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type key struct {
	method string
	path   string
}

var names = map[key]string{{"POST", "/users/first-user"}: "page of first-user"}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	if name, ok := names[key{text(ctx.Method()), text(ctx.Path())}]; ok {
		audit.Log(name)
		return
	}
	audit.Log("unknown")
}
