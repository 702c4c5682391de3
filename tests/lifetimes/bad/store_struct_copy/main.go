// Package storestructcopy: a struct with slices of the request is copied, which copies no bytes.
//
// category: store
// level: 2
// run: bytes
package storestructcopy

import (
	"time"

	"github.com/galehttp/gale"
)

type visit struct {
	agent, referer []byte
	at             time.Time
}

var history []visit

func Handler(ctx *gale.RequestCtx) {
	v := visit{agent: ctx.UserAgent(), referer: ctx.Referer(), at: ctx.Time()} // BAD:1
	saved := v
	history = append(history, saved) // BAD:1
}

// Show prints the first visit.
func Show() string { return string(history[0].agent) + " from " + string(history[0].referer) }
