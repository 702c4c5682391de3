// Hello is the smallest server: it greets the name in the query.
//
//	go run ./examples/hello -addr 127.0.0.1:8080
//	curl 'http://127.0.0.1:8080/?name=world'
package main

import (
	"flag"
	"fmt"
	"log"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	log.Fatal(gale.ListenAndServe(*addr, handle))
}

func handle(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		name := ctx.QueryArgs().Peek("name")
		if len(name) == 0 {
			name = []byte("nobody")
		}
		fmt.Fprintf(ctx, "Hello, %s!\n", name)
	default:
		ctx.Error("there is nothing here", gale.StatusNotFound)
	}
}
