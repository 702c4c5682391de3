// Package stringsplit: parts of an unsafe string are kept.
//
// category: string
// level: 2
// run: bytes
package stringsplit

import (
	"strings"
	"unsafe"

	"github.com/galehttp/gale"
)

var segments []string

func Handler(ctx *gale.RequestCtx) {
	path := ctx.Path()
	s := unsafe.String(unsafe.SliceData(path), len(path))     // BAD:1
	segments = append(segments, strings.Split(s[1:], "/")...) // BAD:1
}

// Show prints the first ones.
func Show() string { return segments[0] + " " + segments[1] }
