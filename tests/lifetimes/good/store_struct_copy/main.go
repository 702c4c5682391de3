// Package storestructcopy: a struct with slices of the request makes a copy of itself that shares nothing.
//
// category: store
// level: 2
// run: ok
package storestructcopy

import (
	"bytes"
	"time"

	"github.com/galehttp/gale"
)

type visit struct {
	agent, referer []byte
	at             time.Time
}

func (v visit) clone() visit {
	v.agent, v.referer = bytes.Clone(v.agent), bytes.Clone(v.referer)
	return v
}

var history []visit

func Handler(ctx *gale.RequestCtx) {
	v := visit{agent: ctx.UserAgent(), referer: ctx.Referer(), at: ctx.Time()}
	history = append(history, v.clone())
}

// Show prints the first visit.
func Show() string { return string(history[0].agent) + " from " + string(history[0].referer) }
