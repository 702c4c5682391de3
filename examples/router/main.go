// Command router is a program made for fasthttp, with the router of
// github.com/fasthttp/router. The replace lines in go.mod make it run on Gale.
//
//	go run . -addr 127.0.0.1:8080
//	curl http://127.0.0.1:8080/hello/you
package main

import (
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &fasthttp.Server{
		Handler: routes().Handler,
		// These have no default.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	log.Fatal(server.ListenAndServe(*addr))
}

// routes returns the router of the program.
func routes() *router.Router {
	r := router.New()
	r.GET("/", func(ctx *fasthttp.RequestCtx) { ctx.WriteString("Welcome!\n") })
	r.GET("/hello/{name}", func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "Hello, %s!\n", ctx.UserValue("name"))
	})
	r.POST("/echo", func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentTypeBytes(ctx.Request.Header.ContentType())
		ctx.SetBody(ctx.PostBody())
	})
	return r
}
