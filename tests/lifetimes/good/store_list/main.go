// Package storelist: a list of recent requests has their paths.
//
// category: store
// level: 1
// run: ok
package storelist

import (
	"container/list"

	"github.com/galehttp/gale"
)

var recent = list.New()

func Handler(ctx *gale.RequestCtx) {
	recent.PushBack(string(ctx.Path()))
	if recent.Len() > 100 {
		recent.Remove(recent.Front())
	}
}

// Show prints the oldest path.
func Show() string { return recent.Front().Value.(string) }
