// Package stringlru: a cache of a library is searched by an unsafe string, and keeps real ones.
//
// category: string
// level: 2
// run: ok
package stringlru

import (
	"unsafe"

	"github.com/galehttp/gale"
	lru "github.com/hashicorp/golang-lru/v2"
)

var cache, _ = lru.New[string, string](16)

func asString(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func Handler(ctx *gale.RequestCtx) {
	if v, ok := cache.Get(asString(ctx.Path())); ok {
		ctx.WriteString(v)
		return
	}
	cache.Add(string(ctx.Path()), string(ctx.PostBody()))
}

// Show prints one.
func Show() string {
	v, _ := cache.Get("/users/first-user")
	return "cached " + v
}
