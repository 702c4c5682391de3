package main

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// routes returns the handler of the whole server; root is the folder served at /static/.
// Every answer except those of the file handler has X-Handler: 1.
func routes(root string) gale.RequestHandler {
	fs := &gale.FS{
		Root:            root,
		PathRewrite:     gale.NewPathSlashesStripper(1),
		AcceptByteRange: true,
	}
	static := fs.NewRequestHandler()
	return func(ctx *gale.RequestCtx) {
		path := ctx.Path()
		if bytes.HasPrefix(path, []byte("/static/")) {
			static(ctx)
			return
		}
		ctx.Response.Header.Set("X-Handler", "1")
		route(ctx, string(path))
	}
}

func route(ctx *gale.RequestCtx, path string) {
	switch {
	case len(path) > len("/status/") && path[:len("/status/")] == "/status/":
		status(ctx, path[len("/status/"):])
	case path == "/noread":
		ctx.SetBodyString("noread")
	case path == "/stream":
		stream(ctx)
	case path == "/setheader":
		ctx.Response.Header.Set(query(ctx, "name"), query(ctx, "value"))
		ctx.SetBodyString("ok")
	case path == "/setcookie":
		setCookie(ctx)
	case path == "/redirect":
		ctx.Redirect(query(ctx, "to"), gale.StatusFound)
	case path == "/close":
		ctx.SetConnectionClose()
		ctx.SetBodyString("bye")
	case path == "/slow":
		ms, _ := strconv.Atoi(query(ctx, "ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
		echo(ctx)
	case path == "/cookies":
		cookies(ctx)
	case path == "/panic":
		panics(ctx)
	case path == "/trailers":
		trailers(ctx)
	case path == "/resptrailers":
		ctx.SetBodyString("body")
		_ = ctx.Response.Header.AddTrailer("X-Checksum")
		ctx.Response.Header.Set("X-Checksum", "abc")
	case path == "/copy":
		copyBody(ctx)
	case path == "/big":
		big(ctx)
	case path == "/hints":
		ctx.Response.Header.Set("Link", "</style.css>; rel=preload; as=style")
		_ = ctx.EarlyHints()
		echo(ctx)
	default:
		echo(ctx)
	}
}

func query(ctx *gale.RequestCtx, name string) string {
	return string(ctx.QueryArgs().Peek(name))
}

// status tries to write a body with any status.
func status(ctx *gale.RequestCtx, code string) {
	n, err := strconv.Atoi(code)
	if err != nil {
		echo(ctx)
		return
	}
	ctx.SetStatusCode(n)
	ctx.SetBodyString("BODY")
}

func stream(ctx *gale.RequestCtx) {
	ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
		_, _ = w.WriteString("part1")
		_ = w.Flush()
		_, _ = w.WriteString("part2")
	})
}

func setCookie(ctx *gale.RequestCtx) {
	var c gale.Cookie
	c.SetKey(query(ctx, "name"))
	c.SetValue(query(ctx, "value"))
	ctx.Response.Header.SetCookie(&c)
	ctx.SetBodyString("ok")
}

// trailers answers with the trailer section of the request.
func trailers(ctx *gale.RequestCtx) {
	ctx.PostBody()
	list := [][2]string{}
	for name, value := range ctx.Trailers() {
		list = append(list, [2]string{strings.ToLower(string(name)), string(value)})
	}
	_ = ctx.JSON(gale.StatusOK, list)
}

// copyBody sends the head of the response at once, and then the body of the request as it
// arrives.
func copyBody(ctx *gale.RequestCtx) {
	if ctx.Flush() != nil {
		return
	}
	in := ctx.RequestBodyStream()
	if in == nil {
		return
	}
	b := make([]byte, 16<<10)
	for {
		n, err := in.Read(b)
		_, _ = ctx.Write(b[:n])
		if n > 0 && ctx.Flush() != nil {
			return
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(gale.ErrAbortHandler)
		}
	}
}

// big writes a body of n bytes in pieces.
func big(ctx *gale.RequestCtx) {
	n, _ := strconv.Atoi(query(ctx, "n"))
	ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
		piece := bytes.Repeat([]byte("x"), 10_000)
		for n > 0 {
			m, err := w.Write(piece[:min(n, len(piece))])
			if n -= m; err != nil {
				return
			}
		}
	})
}

// panics panics at once, or after 7 of 100 bytes were sent.
func panics(ctx *gale.RequestCtx) {
	if query(ctx, "after") != "" {
		ctx.Response.Header.SetContentLength(100)
		ctx.SetBodyString("partial")
		_ = ctx.Flush()
	}
	panic("contract: asked to panic")
}
