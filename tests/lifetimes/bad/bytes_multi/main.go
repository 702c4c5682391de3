// Package bytesmulti: all values of an argument are kept.
//
// category: bytes
// level: 1
// run: bytes
package bytesmulti

import (
	"github.com/galehttp/gale"
)

var tags [][]byte

func Handler(ctx *gale.RequestCtx) {
	tags = append(tags, ctx.QueryArgs().PeekMulti("tag")...) // BAD
}

// Show prints the first.
func Show() string { return "tag " + string(tags[0]) }
