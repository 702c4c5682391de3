// Package storecollect: maps.Collect gathers slices, which are kept as values.
//
// category: bytes
// level: 2
// run: bytes
package storecollect

import (
	"iter"
	"maps"

	"github.com/galehttp/gale"
)

type pair struct{ key, value []byte }

func pairs(args *gale.Args) iter.Seq2[string, pair] {
	return func(yield func(string, pair) bool) {
		for k, v := range args.All() {
			if !yield(string(k), pair{k, v}) {
				return
			}
		}
	}
}

var queries []map[string]pair

func Handler(ctx *gale.RequestCtx) {
	queries = append(queries, maps.Collect(pairs(ctx.QueryArgs()))) // BAD
}

// Show prints a value.
func Show() string { return "user " + string(queries[0]["user"].value) }
