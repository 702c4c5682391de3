// Package storelist: a list of recent requests has their contexts.
//
// category: store
// level: 1
// run: object
package storelist

import (
	"container/list"

	"github.com/galehttp/gale"
)

var recent = list.New()

func Handler(ctx *gale.RequestCtx) {
	recent.PushBack(ctx) // BAD
	if recent.Len() > 100 {
		recent.Remove(recent.Front())
	}
}

// Show prints the path of the oldest.
func Show() string { return string(recent.Front().Value.(*gale.RequestCtx).Path()) }
