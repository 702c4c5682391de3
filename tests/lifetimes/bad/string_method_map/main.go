// Package stringmethodmap: a struct with an unsafe string is the key of a map.
//
// category: string
// level: 3
// run: bytes
package stringmethodmap

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/galehttp/gale"
)

type key struct {
	method string
	path   string
}

var latency = map[key]int{}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	latency[key{text(ctx.Method()), text(ctx.Path())}]++ // BAD
}

// Show prints the keys.
func Show() string { return fmt.Sprint(slices.Collect(maps.Keys(latency))) }
