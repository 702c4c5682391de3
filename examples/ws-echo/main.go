// Ws-echo sends the messages of WebSockets back, with both APIs of package ws: a handler
// whose methods are called when a message has come, and a connection whose methods block.
//
//	go run ./examples/ws-echo -addr 127.0.0.1:8080
//
// Then open ws://127.0.0.1:8080/event or ws://127.0.0.1:8080/conn with a client.
package main

import (
	"context"
	"flag"
	"log"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &gale.Server{
		Handler: handle,
		// These have no default. They don't apply to WebSockets.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}

// handle lets a WebSocket be served after it has returned. If the request is none, or comes
// from a page of another host, Serve and Accept set the answer.
func handle(ctx *gale.RequestCtx) {
	var err error
	switch string(ctx.Path()) {
	case "/event":
		err = ws.Serve(ctx, events{}, nil)
	case "/conn":
		err = ws.Accept(ctx, echo, nil)
	default:
		ctx.Error("try /event or /conn with a WebSocket", gale.StatusNotFound)
	}
	if err != nil {
		ctx.Logger().Printf("no WebSocket: %v", err)
	}
}

// events serves any number of WebSockets. One that is idle holds no goroutine.
type events struct{ ws.Base }

func (events) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
	_ = s.Write(t, data) // an error ends the WebSocket
}

// echo has a goroutine of its own for each WebSocket, until it returns.
func echo(c *ws.Conn) {
	ctx := context.Background()
	var message []byte
	for {
		t, data, err := c.AppendRead(ctx, message[:0])
		if err != nil {
			return // the client has gone, or broke a rule
		}
		if c.Write(ctx, t, data) != nil {
			return
		}
		message = data
	}
}
