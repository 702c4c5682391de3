// Package stringmapkey: the keys of a map are unsafe strings of the path.
//
// category: string
// level: 2
// after: gofiber/fiber#2446
// run: bytes
package stringmapkey

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/galehttp/gale"
)

var hits = map[string]int{}

func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

func Handler(ctx *gale.RequestCtx) {
	hits[view(ctx.Path())]++ // BAD
}

// Show prints the paths.
func Show() string {
	paths := slices.Collect(maps.Keys(hits))
	return fmt.Sprintf("%q", paths)
}
