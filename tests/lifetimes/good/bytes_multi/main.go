// Package bytesmulti: copies of all values of an argument are kept.
//
// category: copy
// level: 1
// run: ok
package bytesmulti

import (
	"github.com/galehttp/gale"
)

var tags [][]byte

func Handler(ctx *gale.RequestCtx) {
	for _, v := range ctx.QueryArgs().PeekMulti("tag") {
		tags = append(tags, append([]byte(nil), v...))
	}
}

// Show prints the first.
func Show() string { return "tag " + string(tags[0]) }
