package gale_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
)

// A middleware takes a handler and returns one. Set a header that every response must
// have in BeforeSend: then the 404 of NotFound has it, too, although NotFound replaces
// the response.
func ExampleRequestCtx_BeforeSend() {
	secure := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Set("X-Frame-Options", "DENY")
			})
			next(ctx)
		}
	}
	handler := secure(func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Dropped", "by NotFound")
		ctx.NotFound()
	})

	resp := galetest.Record(handler, galetest.NewContext("GET", "/", nil)).Response
	fmt.Println(resp.StatusCode())
	fmt.Printf("%q %q\n", resp.Header.Peek("X-Frame-Options"), resp.Header.Peek("X-Dropped"))
	// Output:
	// 404
	// "DENY" ""
}

// CORS: the headers of the response depend on the request. The function must use its own
// parameter, which has the request even after a timeout, while the handler still runs.
func ExampleRequestCtx_BeforeSend_cors() {
	allowed := map[string]bool{"https://app.example": true}
	cors := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Add("Vary", "Origin")
				if origin := ctx.Request.Header.Peek("Origin"); allowed[string(origin)] {
					ctx.Response.Header.SetBytesV("Access-Control-Allow-Origin", origin)
				}
			})
			if ctx.IsOptions() && len(ctx.Request.Header.Peek("Access-Control-Request-Method")) > 0 {
				ctx.Response.Header.Set("Access-Control-Allow-Methods", "GET, POST")
				ctx.SetStatusCode(gale.StatusNoContent)
				return
			}
			next(ctx)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	handler := cors(gale.TimeoutHandler(func(*gale.RequestCtx) { <-stop }, time.Millisecond, "too slow"))

	ctx := galetest.NewContext("GET", "/", nil)
	ctx.Request.Header.Set("Origin", "https://app.example")
	resp := galetest.Record(handler, ctx).Response
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Header.Peek("Access-Control-Allow-Origin"))
	// Output: 408 https://app.example
}

// The duration and the status of a request when its response is sent.
func ExampleRequestCtx_BeforeSend_log() {
	logged := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			began := time.Now()
			ctx.BeforeSend(func(ctx *gale.RequestCtx) {
				took := time.Since(began) < time.Hour
				fmt.Printf("%s %s %d %v\n", ctx.Method(), ctx.Path(), ctx.Response.StatusCode(), took)
			})
			next(ctx)
		}
	}
	handler := logged(func(ctx *gale.RequestCtx) { ctx.Redirect("/new", gale.StatusFound) })

	galetest.Record(handler, galetest.NewContext("GET", "/old", nil))
	// Output: GET /old 302 true
}

var errNoUser = errors.New("there is no such user")

// Fail answers with an error and keeps the headers that were set before.
func ExampleRequestCtx_Fail() {
	handler := func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Request-Id", "7")
		ctx.Fail(gale.StatusNotFound, errNoUser)
	}

	ctx := galetest.NewContext("GET", "/users/1", nil)
	resp := galetest.Record(handler, ctx).Response
	fmt.Printf("%d %s %s\n", resp.StatusCode(), resp.Header.Peek("X-Request-Id"), resp.Body())

	ctx = galetest.NewContext("GET", "/users/1", nil)
	ctx.Request.Header.Set("Accept", "application/json")
	resp = galetest.Record(handler, ctx).Response
	fmt.Printf("%s %s\n", resp.Header.ContentType(), resp.Body())
	// Output:
	// 404 7 there is no such user
	// application/problem+json {"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such user"}
}

// One place for all errors: those of handlers, panics, limits and malformed requests.
func ExampleServer_errorHandler() {
	server := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/panic" {
			panic("a bug")
		}
		ctx.Fail(gale.StatusNotFound, errNoUser)
	})
	server.Config.MaxRequestBodySize = 10
	server.Config.Logger = log.New(discard{}, "", 0)
	server.Config.BeforeSend = func(ctx *gale.RequestCtx) { // even if no handler ran
		ctx.Response.Header.Set("X-Frame-Options", "DENY")
	}
	server.Config.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
		status := gale.ErrorStatus(err)
		ctx.SetStatusCode(status)
		ctx.SetContentType("text/html; charset=utf-8")
		fmt.Fprintf(ctx, "<h1>%s</h1>", gale.StatusMessage(status))
		var failed *gale.HandlerError
		if errors.As(err, &failed) && status < 500 {
			ctx.Write(gale.AppendHTMLEscape(nil, failed.Error()))
		}
	}
	server.Start()
	defer server.Close()

	for _, req := range []*gale.Request{
		galetest.NewRequest("GET", "/users/1", nil),
		galetest.NewRequest("GET", "/panic", nil),
		galetest.NewRequest("POST", "/", []byte("more than ten bytes")),
	} {
		var resp gale.Response
		if err := server.Do(req, &resp); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s %s\n", resp.StatusCode(), resp.Header.Peek("X-Frame-Options"), resp.Body())
	}
	// Output:
	// 404 DENY <h1>Not Found</h1>there is no such user
	// 500 DENY <h1>Internal Server Error</h1>
	// 413 DENY <h1>Request Entity Too Large</h1>
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
