package gale_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// Go on with a request after the handler has answered it. Without Detach, the goroutine
// would read the next request.
func ExampleRequestCtx_Detach() {
	done := make(chan struct{})
	audit := func(ctx *gale.RequestCtx) {
		defer close(done)
		<-ctx.Done() // the response was sent
		fmt.Printf("%s %s %s: %d\n", ctx.Method(), ctx.Path(), ctx.PostBody(), ctx.Response.StatusCode())
	}
	handler := func(ctx *gale.RequestCtx) {
		go audit(ctx.Detach())
		ctx.SetStatusCode(gale.StatusAccepted)
	}

	server := galetest.NewServer(handler)
	defer server.Close()
	var resp gale.Response
	if err := server.Do(galetest.NewRequest("POST", "/orders", []byte("3 apples")), &resp); err != nil {
		fmt.Println(err)
	}
	<-done
	// Output: POST /orders 3 apples: 202
}

// A logger finds user values in the context that it gets, even when the request is over.
func ExampleRequestCtx_Context_values() {
	log := slog.New(userHandler{slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // the example has no time
			}
			return a
		},
	})})
	done := make(chan struct{})
	refresh := func(ctx context.Context) {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		log.InfoContext(ctx, "the cache is fresh")
	}
	handler := func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("user", "ann")
		go refresh(ctx.Context()) // it never uses ctx
	}

	server := galetest.NewServer(handler)
	defer server.Close()
	if _, err := server.Get("/"); err != nil {
		fmt.Println(err)
	}
	<-done
	// Output: level=INFO msg="the cache is fresh" user=ann
}

// userHandler adds the user to each record.
type userHandler struct{ slog.Handler }

func (h userHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Add("user", ctx.Value("user"))
	return h.Handler.Handle(ctx, r)
}
