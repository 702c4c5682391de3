// Package bytessequence: an iterator is ranged over in the handler, and copies are kept.
//
// category: bytes
// level: 2
// run: ok
package bytessequence

import (
	"strings"

	"github.com/galehttp/gale"
)

var fields []string

func Handler(ctx *gale.RequestCtx) {
	if len(fields) > 0 {
		return
	}
	for k, v := range ctx.QueryArgs().All() {
		fields = append(fields, string(k)+"="+string(v))
	}
}

// Show prints the arguments.
func Show() string { return strings.Join(fields, " ") }
