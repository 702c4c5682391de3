// Stream sends bodies whose length isn't known in advance: a download that is
// generated while it is sent, and server-sent events.
//
//	go run ./examples/stream -addr 127.0.0.1:8080
//	curl 'http://127.0.0.1:8080/numbers?n=100000' | tail -1
//	curl -N http://127.0.0.1:8080/events
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &gale.Server{
		Handler: handle,
		// These have no default. A stream may take longer than WriteTimeout while the
		// client makes progress.
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
	case "/numbers":
		numbers(ctx)
	case "/events":
		events(ctx)
	default:
		ctx.Error("try /numbers?n=1000 or /events", gale.StatusNotFound)
	}
}

// numbers sends n lines. The function given to SetBodyStreamWriter runs after the
// handler has returned, so it must not use ctx. It uses a copy of n.
func numbers(ctx *gale.RequestCtx) {
	n := min(ctx.QueryArgs().GetUintOrZero("n"), 10_000_000)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		line := make([]byte, 0, 20)
		for i := range n {
			line = append(strconv.AppendInt(line[:0], int64(i), 10), '\n')
			if _, err := w.Write(line); err != nil {
				return // the client has gone
			}
		}
	})
}

// events sends the time every tenth of a second, 50 times or until the client leaves.
// The handler itself sends: Flush sends what was written.
func events(ctx *gale.RequestCtx) {
	const enough = 50
	ctx.SetContentType("text/event-stream")
	ctx.Response.Header.Set("Cache-Control", "no-cache")
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := range enough {
		fmt.Fprintf(ctx, "id: %d\ndata: %s\n\n", i, time.Now().Format(time.RFC3339Nano))
		if err := ctx.Flush(); err != nil {
			return // the client has gone
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return // the client has gone, or the server shuts down
		}
	}
}
