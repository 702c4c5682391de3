// Package groupworkerpool: tasks with contexts wait for a pool of workers.
//
// category: group
// level: 3
// after: valyala/fasthttp#1978
// run: object
package groupworkerpool

import (
	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

type task struct{ ctx *gale.RequestCtx }

type pool struct{ tasks chan task }

func newPool(workers int) *pool {
	p := &pool{tasks: make(chan task, 64)}
	for range workers {
		go p.work()
	}
	return p
}

func (p *pool) work() {
	for t := range p.tasks {
		slow.Work()
		audit.Log("task " + string(t.ctx.PostBody()))
	}
}

func (p *pool) submit(t task) bool {
	select {
	case p.tasks <- t: // BAD:1
		return true
	default:
		return false
	}
}

var workers = newPool(2)

func Handler(ctx *gale.RequestCtx) {
	if !workers.submit(task{ctx: ctx}) { // BAD:1
		ctx.SetStatusCode(gale.StatusServiceUnavailable)
	}
}
