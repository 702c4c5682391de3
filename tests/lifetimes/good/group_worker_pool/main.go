// Package groupworkerpool: the handler waits until a worker has done its task.
//
// category: group
// level: 3
// after: valyala/fasthttp#1978
// run: ok
package groupworkerpool

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type task struct {
	ctx  *gale.RequestCtx
	done chan struct{}
}

var tasks = make(chan task)

func init() {
	go func() {
		for t := range tasks {
			audit.Log("task " + string(t.ctx.PostBody()))
			close(t.done)
		}
	}()
}

func Handler(ctx *gale.RequestCtx) {
	t := task{ctx: ctx, done: make(chan struct{})}
	tasks <- t
	<-t.done
}
