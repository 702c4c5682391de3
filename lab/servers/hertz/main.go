// Hertz is the lab's server on Hertz, with its default network library, netpoll.
package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"

	"github.com/galehttp/gale/lab/servers/work"
)

func main() {
	o := work.Parse()
	hlog.SetOutput(io.Discard)
	h := server.New(
		server.WithHostPorts(o.Addr), server.WithDisablePrintRoute(true), server.WithStreamBody(o.Stream),
		server.WithMaxRequestBodySize(work.MaxBody), server.WithIdleTimeout(time.Hour),
	)
	h.Name = work.Server
	h.GET("/", greet)
	h.GET("/fields", func(c context.Context, ctx *app.RequestContext) {
		for _, f := range work.Fields {
			ctx.Header(f[0], f[1])
		}
		greet(c, ctx)
	})
	h.GET("/sleep", func(c context.Context, ctx *app.RequestContext) {
		time.Sleep(work.Pause)
		greet(c, ctx)
	})
	h.POST("/echo", func(_ context.Context, ctx *app.RequestContext) {
		body, err := ctx.Body()
		if err != nil {
			ctx.AbortWithMsg(err.Error(), 400)
			return
		}
		ctx.Data(200, work.Binary, body)
	})
	h.POST("/upload", func(_ context.Context, ctx *app.RequestContext) {
		n, err := work.Count(ctx.RequestBodyStream())
		if err != nil {
			ctx.AbortWithMsg(err.Error(), 400)
			return
		}
		ctx.Data(200, work.PlainText, n)
	})
	h.POST("/collect", func(_ context.Context, ctx *app.RequestContext) {
		body, err := ctx.Body()
		if err != nil {
			ctx.AbortWithMsg(err.Error(), 400)
			return
		}
		ctx.Data(200, work.PlainText, strconv.AppendInt(nil, int64(len(body)), 10))
	})
	h.GET("/json", func(_ context.Context, ctx *app.RequestContext) { ctx.Data(200, work.JSONType, work.JSON()) })
	if o.Files != "" {
		h.StaticFS("/files", &app.FS{Root: o.Files, PathRewrite: app.NewPathSlashesStripper(1), AcceptByteRange: true})
	}
	h.Spin()
}

func greet(_ context.Context, ctx *app.RequestContext) {
	ctx.SetContentType(work.PlainText)
	ctx.SetBodyString(work.Greeting)
}
