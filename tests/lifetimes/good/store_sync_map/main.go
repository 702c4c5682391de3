// Package storesyncmap: a sync.Map has strings.
//
// category: store
// level: 1
// run: ok
package storesyncmap

import (
	"sync"

	"github.com/galehttp/gale"
)

var active sync.Map

func Handler(ctx *gale.RequestCtx) {
	active.Store(string(ctx.QueryArgs().Peek("user")), string(ctx.UserAgent()))
}

// Show prints the agent of a user.
func Show() string {
	v, _ := active.Load("first-user")
	return "agent " + v.(string)
}
