// Package typeschannelofchannel: a worker replies before the handler returns.
//
// category: types
// level: 3
// run: ok
package typeschannelofchannel

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type query struct {
	get   func() []byte
	reply chan<- string
}

var queries = make(chan query, 16)

func init() {
	go func() {
		for q := range queries {
			q.reply <- "asked for " + string(q.get())
		}
	}()
}

func Handler(ctx *gale.RequestCtx) {
	reply := make(chan string)
	queries <- query{get: ctx.Path, reply: reply}
	audit.Log(<-reply)
}
