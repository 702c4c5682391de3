// Package bytessequence: the sequence of an iterator is kept and ranged over later.
//
// category: bytes
// level: 2
// run: object
package bytessequence

import (
	"iter"

	"github.com/galehttp/gale"
)

var fields iter.Seq2[[]byte, []byte]

func Handler(ctx *gale.RequestCtx) {
	if fields == nil {
		fields = ctx.QueryArgs().All() // BAD
	}
}

// Show ranges over the arguments.
func Show() string {
	out := ""
	for k, v := range fields {
		out += string(k) + "=" + string(v) + " "
	}
	return out
}
