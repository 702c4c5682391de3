// Hello is the smallest server: it greets the name in the query.
//
//	go run ./examples/hello -addr 127.0.0.1:8080
//	curl 'http://127.0.0.1:8080/?name=you'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &gale.Server{
		Handler: handle,
		// These have no default.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}

func handle(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		name := ctx.QueryArgs().Peek("name")
		if len(name) == 0 {
			name = []byte("world")
		}
		fmt.Fprintf(ctx, "Hello, %s!\n", name)
	default:
		ctx.Error("not found", gale.StatusNotFound)
	}
}
