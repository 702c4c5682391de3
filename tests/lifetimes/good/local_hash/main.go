// Package localhash: a hash, a length and a comparison of bytes keep nothing of them.
//
// category: local
// level: 1
// run: ok
package localhash

import (
	"hash/fnv"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

var (
	previous uint64
	longest  int
	same     bool
)

func Handler(ctx *gale.RequestCtx) {
	h := fnv.New64a()
	h.Write(ctx.PostBody())
	same = previous == h.Sum64()
	previous = h.Sum64()
	longest = max(longest, len(ctx.PostBody()))
	audit.Log(string(ctx.Path()))
}
