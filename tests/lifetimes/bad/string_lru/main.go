// Package stringlru: a cache of a library keeps the body as an unsafe string.
//
// category: string
// level: 2
// run: bytes
package stringlru

import (
	"unsafe"

	"github.com/galehttp/gale"
	lru "github.com/hashicorp/golang-lru/v2"
)

var cache, _ = lru.New[uint64, string](16)

func asString(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func Handler(ctx *gale.RequestCtx) {
	cache.Add(uint64(cache.Len()), asString(ctx.PostBody())) // BAD
}

// Show prints the first.
func Show() string {
	v, _ := cache.Get(0)
	return "cached " + v
}
