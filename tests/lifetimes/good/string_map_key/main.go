// Package stringmapkey: a map is searched by an unsafe string, and a real one is stored.
//
// category: string
// level: 2
// run: ok
package stringmapkey

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/galehttp/gale"
)

var hits = map[string]*int{}

func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

func Handler(ctx *gale.RequestCtx) {
	n, ok := hits[view(ctx.Path())]
	if !ok {
		n = new(int)
		hits[string(ctx.Path())] = n
	}
	*n++
}

// Show prints the paths.
func Show() string {
	paths := slices.Sorted(maps.Keys(hits))
	return fmt.Sprintf("%q", paths)
}
