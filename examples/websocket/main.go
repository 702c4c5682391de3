// Command websocket is a chat room: each message goes to all clients. It uses
// github.com/fasthttp/websocket, which is made for fasthttp. The replace lines in go.mod
// make it run on Gale.
//
//	go run . -addr 127.0.0.1:8080
//
// Open http://127.0.0.1:8080/ in two windows of a browser.
package main

import (
	"context"
	_ "embed"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

//go:embed page.html
var page []byte

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	room := newRoom()
	server := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) { handle(room, ctx) },
		// These have no default. They don't apply to WebSockets.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe(*addr) }()

	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	select {
	case err := <-failed:
		log.Fatal(err)
	case <-stop.Done():
	}
	release()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.ShutdownWithContext(ctx); err != nil {
		log.Print(err)
	}
	room.close() // Shutdown neither waits for WebSockets nor closes them
}

func handle(room *room, ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBody(page)
	case "/chat":
		room.join(ctx)
	default:
		ctx.NotFound()
	}
}
