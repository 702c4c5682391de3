// Package typeschannelofchannel: a reply channel goes to a worker together with a getter that uses the context.
//
// category: types
// level: 3
// run: object
package typeschannelofchannel

import (
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
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
			slow.Work()
			line := "asked for " + string(q.get())
			audit.Log(line)
			q.reply <- line
		}
	}()
}

func Handler(ctx *gale.RequestCtx) {
	reply := make(chan string, 1)
	queries <- query{get: ctx.Path, reply: reply} // BAD:1
	select {
	case line := <-reply:
		ctx.WriteString(line)
	case <-time.After(time.Millisecond): // BAD:1
		ctx.SetStatusCode(gale.StatusGatewayTimeout)
	}
}
