package handlers

import (
	"bufio"
	"bytes"
	"context"
	"sync"
	"time"
	"unsafe"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

var (
	last  []byte
	name  string
	kept  = map[string]*gale.RequestCtx{}
	queue = make(chan *gale.RequestCtx, 1)
	seen  sync.Map
)

func log(string) {}

func Goroutine(ctx *gale.RequestCtx) {
	go func() { // want `ctx is valid until the handler returns, but a goroutine`
		log(string(ctx.Path()))
	}()
}

func Global(ctx *gale.RequestCtx) {
	last = ctx.Path() // want `stored in last: copy it`
}

func Part(ctx *gale.RequestCtx) {
	parts := bytes.Split(ctx.PostBody(), []byte(","))
	last = parts[0] // want `what PostBody returned is valid until`
}

func Unsafe(ctx *gale.RequestCtx) {
	b := ctx.QueryArgs().Peek("user")
	name = unsafe.String(unsafe.SliceData(b), len(b)) // want `what Peek returned`
}

func Map(ctx *gale.RequestCtx) {
	kept["x"] = ctx // want `stored in kept`
}

func SyncMap(ctx *gale.RequestCtx) {
	seen.Store("x", ctx.Path()) // want `stored in seen`
}

func Channel(ctx *gale.RequestCtx) {
	select {
	case queue <- ctx: // want `sent to a goroutine`
	default:
	}
}

func Timer(ctx *gale.RequestCtx) {
	time.AfterFunc(time.Second, func() { log(string(ctx.Path())) }) // want `a timer uses it later`
}

func Callback(ctx *gale.RequestCtx) {
	ctx.Request.Header.VisitAll(func(k, v []byte) {
		last = v // want `stored in last`
	})
}

func Sequence(ctx *gale.RequestCtx) {
	for _, v := range ctx.Request.Header.All() {
		last = v // want `stored in last`
	}
}

func Stream(ctx *gale.RequestCtx) {
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(ctx.Path()) }) // want `streamed`
}

func keep(b []byte) { last = b }

func Helper(ctx *gale.RequestCtx) {
	keep(ctx.Path()) // want `handlers.go:\d+`
}

var contexts []context.Context

func remember(c context.Context) { contexts = append(contexts, c) }

func Context(ctx *gale.RequestCtx) {
	remember(ctx) // want `ctx is valid until`
}

func spawn(f func()) { go f() }

func Spawn(ctx *gale.RequestCtx) {
	spawn(func() { log(string(ctx.Path())) }) // want `a goroutine that may run longer`
}

func Branch(ctx *gale.RequestCtx) {
	done := make(chan struct{})
	go func() { // want `a goroutine that may run longer`
		defer close(done)
		log(string(ctx.Path()))
	}()
	if len(ctx.Path()) > 1 {
		return
	}
	<-done
}

func Fasthttp(ctx *fasthttp.RequestCtx) {
	last = ctx.Path() // want `stored in last`
}

type keeper[T any] struct {
	path []byte
	v    T
}

func (k *keeper[T]) Value(ctx *gale.RequestCtx, _ int) {
	k.path = ctx.Path() // want `stored in`
}

func (k *keeper[T]) Expression(ctx *gale.RequestCtx, _ int) {
	k.path = ctx.Path() // want `stored in`
}

type plainKeeper struct{ path []byte }

func (k *plainKeeper) Value(ctx *gale.RequestCtx, _ int) {
	k.path = ctx.Path() // want `stored in`
}

func (k *plainKeeper) Expression(ctx *gale.RequestCtx, _ int) {
	k.path = ctx.Path() // want `stored in`
}

// MethodsAsValues gives methods to functions that aren't known.
func MethodsAsValues(register func(any)) {
	register(new(keeper[int]).Value)
	register((*keeper[int]).Expression)
	register(new(plainKeeper).Value)
	register((*plainKeeper).Expression)
}
