// Fasthttp is the server of tests/hello, written for fasthttp.
package main

import (
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/valyala/fasthttp"
)

const fieldValue = "0123456789abcdef0123456789abcdef"

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	sleep := flag.Duration("sleep", 0, "sleep in the handler")
	headers := flag.Int("headers", 0, "answer with `N` more fields")
	flag.Parse()
	var names []string
	for i := range *headers {
		names = append(names, fmt.Sprintf("X-Field-%d", i+1))
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if *sleep > 0 {
			time.Sleep(*sleep)
		}
		for _, name := range names {
			ctx.Response.Header.Set(name, fieldValue)
		}
		if ctx.IsPost() {
			ctx.SetBody(ctx.PostBody())
			return
		}
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("Hello, world!")
	}}
	log.Fatal(s.ListenAndServe(*addr))
}
