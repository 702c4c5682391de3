// Package closureoncevalue: a lazily computed value uses the context when it is first asked for.
//
// category: closure
// level: 2
// run: object
package closureoncevalue

import (
	"sync"

	"github.com/galehttp/gale"
)

var pages = map[string]func() string{}

func Handler(ctx *gale.RequestCtx) {
	key := string(ctx.QueryArgs().Peek("user"))
	pages[key] = sync.OnceValue(func() string { // BAD:1
		return "page for " + string(ctx.UserAgent()) // BAD:1
	})
}

// Show computes a page.
func Show() string { return pages["first-user"]() }
