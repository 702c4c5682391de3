// Package detachstored: a detached context is kept in a map.
//
// category: store
// level: 2
// run: ok
package detachstored

import (
	"sync"

	"github.com/galehttp/gale"
)

var (
	mu   sync.Mutex
	kept = map[string]*gale.RequestCtx{}
)

func keep(ctx *gale.RequestCtx) {
	ctx.Detach()
	mu.Lock()
	defer mu.Unlock()
	if len(kept) == 0 {
		kept["first"] = ctx
	}
}

func Handler(ctx *gale.RequestCtx) { keep(ctx) }

// Show reads the detached request.
func Show() string {
	mu.Lock()
	defer mu.Unlock()
	return string(kept["first"].QueryArgs().Peek("user"))
}
