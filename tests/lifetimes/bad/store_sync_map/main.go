// Package storesyncmap: a sync.Map has the context of each user.
//
// category: store
// level: 1
// run: object
package storesyncmap

import (
	"sync"

	"github.com/galehttp/gale"
)

var active sync.Map

func Handler(ctx *gale.RequestCtx) {
	active.Store(string(ctx.QueryArgs().Peek("user")), ctx) // BAD
}

// Show prints the agent of a user.
func Show() string {
	v, _ := active.Load("first-user")
	return "agent " + string(v.(*gale.RequestCtx).UserAgent())
}
