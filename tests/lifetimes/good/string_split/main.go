// Package stringsplit: parts of an unsafe string are cloned.
//
// category: string
// level: 2
// run: ok
package stringsplit

import (
	"strings"
	"unsafe"

	"github.com/galehttp/gale"
)

var segments []string

func Handler(ctx *gale.RequestCtx) {
	path := ctx.Path()
	s := unsafe.String(unsafe.SliceData(path), len(path))
	for segment := range strings.SplitSeq(s[1:], "/") {
		segments = append(segments, strings.Clone(segment))
	}
}

// Show prints the first ones.
func Show() string { return segments[0] + " " + segments[1] }
