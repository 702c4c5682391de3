// Gale is the lab's server on Gale's own API.
package main

import (
	"bytes"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/lab/servers/work"
	"github.com/galehttp/gale/reverse"
)

func main() {
	var engine gale.Engine
	if err := engine.UnmarshalText([]byte(os.Getenv("LAB_ENGINE"))); err != nil {
		log.Fatal(err)
	}
	o := work.Parse()
	s := &gale.Server{
		Name: work.Server, Engine: engine, Handler: handler(o), Concurrency: 1 << 20,
		MaxRequestBodySize: work.MaxBody, StreamRequestBody: o.Stream,
		HTTP2: gale.HTTP2Config{H2C: o.HTTP2},
	}
	if !o.HTTP2 {
		s.HTTP2.Mode = gale.HTTP2Off
	}
	if o.TLS != "" {
		log.Fatal(s.ListenAndServeTLS(o.Addr, o.Cert(), o.Key()))
	}
	log.Fatal(s.ListenAndServe(o.Addr))
}

func handler(o *work.Options) gale.RequestHandler {
	if o.To != "" {
		return (&reverse.Proxy{Upstreams: []string{o.To}}).Handler
	}
	files := (&gale.FS{Root: o.Files, PathRewrite: gale.NewPathSlashesStripper(1), AcceptByteRange: true}).NewRequestHandler()
	compressed := gale.CompressHandlerLevel(func(ctx *gale.RequestCtx) {
		ctx.SetContentType(work.PlainText)
		ctx.SetBody(work.Long)
	}, work.GzipLevel)
	return func(ctx *gale.RequestCtx) {
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

func greet(ctx *gale.RequestCtx) {
	ctx.SetContentType(work.PlainText)
	ctx.SetBodyString(work.Greeting)
}

func upload(ctx *gale.RequestCtx) {
	n, err := work.Count(ctx.RequestBodyStream())
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	ctx.SetContentType(work.PlainText)
	ctx.SetBody(n)
}
