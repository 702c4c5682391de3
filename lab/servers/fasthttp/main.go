// Fasthttp is the lab's server on fasthttp.
package main

import (
	"bytes"
	"log"
	"strconv"
	"time"

	"github.com/galehttp/gale/lab/servers/work"
	"github.com/valyala/fasthttp"
)

func main() {
	o := work.Parse()
	s := &fasthttp.Server{
		Name: work.Server, Handler: handler(o), Concurrency: 1 << 20,
		MaxRequestBodySize: work.MaxBody, StreamRequestBody: o.Stream,
	}
	if o.TLS != "" {
		log.Fatal(s.ListenAndServeTLS(o.Addr, o.Cert(), o.Key()))
	}
	log.Fatal(s.ListenAndServe(o.Addr))
}

func handler(o *work.Options) fasthttp.RequestHandler {
	files := (&fasthttp.FS{Root: o.Files, PathRewrite: fasthttp.NewPathSlashesStripper(1), AcceptByteRange: true}).NewRequestHandler()
	compressed := fasthttp.CompressHandlerLevel(func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType(work.PlainText)
		ctx.SetBody(work.Long)
	}, work.GzipLevel)
	return func(ctx *fasthttp.RequestCtx) {
		switch path := ctx.Path(); string(path) {
		case "/":
			greet(ctx)
		case "/fields":
			for _, f := range work.Fields {
				ctx.Response.Header.Set(f[0], f[1])
			}
			greet(ctx)
		case "/sleep":
			time.Sleep(work.Pause)
			greet(ctx)
		case "/echo":
			ctx.SetContentType(work.Binary)
			ctx.SetBody(ctx.PostBody())
		case "/upload":
			upload(ctx)
		case "/collect":
			ctx.SetContentType(work.PlainText)
			ctx.SetBodyString(strconv.Itoa(len(ctx.PostBody())))
		case "/json":
			ctx.SetContentType(work.JSONType)
			ctx.SetBody(work.JSON())
		case "/compress":
			compressed(ctx)
		case "/ws":
			echoMessages(ctx)
		default:
			if o.Files == "" || !bytes.HasPrefix(path, []byte("/files/")) {
				ctx.NotFound()
				return
			}
			files(ctx)
		}
	}
}

func greet(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(work.PlainText)
	ctx.SetBodyString(work.Greeting)
}

func upload(ctx *fasthttp.RequestCtx) {
	n, err := work.Count(ctx.RequestBodyStream())
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType(work.PlainText)
	ctx.SetBody(n)
}
