package good

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

var (
	last     []byte
	name     string
	contexts []context.Context
	requests []*gale.Request
)

func log(string) {}

func Copies(ctx *gale.RequestCtx) {
	last = append([]byte(nil), ctx.Path()...)
	last = bytes.Clone(ctx.Path())
	name = string(ctx.Path())
}

func Joined(ctx *gale.RequestCtx) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		log(string(ctx.Path()))
	}()
	wg.Wait()
}

func TimeoutError(ctx *gale.RequestCtx) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		log(string(ctx.Path()))
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
		ctx.TimeoutError("late")
	}
}

func Detached(ctx *gale.RequestCtx) {
	ctx.Detach()
	go func() { log(string(ctx.Path())) }()
}

func Context(ctx *gale.RequestCtx) {
	contexts = append(contexts, ctx.Context())
}

func Values(ctx *gale.RequestCtx) {
	ctx.SetUserValue("path", ctx.Path())
}

func CopyTo(ctx *gale.RequestCtx) {
	req := new(gale.Request)
	ctx.Request.CopyTo(req)
	requests = append(requests, req)
}

type call struct {
	ctx  *gale.RequestCtx
	user []byte
}

func (c *call) auth() { c.user = c.ctx.QueryArgs().Peek("user") }

func PerRequest(ctx *gale.RequestCtx) {
	c := &call{ctx: ctx}
	c.auth()
	log(string(c.user))
}

func Overwritten(ctx *gale.RequestCtx) {
	path := ctx.Path()
	path = append([]byte(nil), path...)
	go func() { log(string(path)) }()
}
