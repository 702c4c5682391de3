// Package storecollect: maps.Collect gathers strings.
//
// category: copy
// level: 2
// run: ok
package storecollect

import (
	"iter"
	"maps"

	"github.com/galehttp/gale"
)

func pairs(args *gale.Args) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for k, v := range args.All() {
			if !yield(string(k), string(v)) {
				return
			}
		}
	}
}

var queries []map[string]string

func Handler(ctx *gale.RequestCtx) {
	queries = append(queries, maps.Collect(pairs(ctx.QueryArgs())))
}

// Show prints a value.
func Show() string { return "user " + queries[0]["user"] }
