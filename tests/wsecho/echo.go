package main

import (
	"context"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

// handlers make the handler for a value of -api. A request that isn't a handshake gets the
// answer of package ws.
var handlers = map[string]func(*ws.Options) gale.RequestHandler{
	"event": func(o *ws.Options) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { _ = ws.Serve(ctx, echo{}, o) }
	},
	"conn": func(o *ws.Options) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { _ = ws.Accept(ctx, echoConn, o) }
	},
}

// echo is the handler of -api event.
type echo struct{ ws.Base }

// OnMessage sends the message back. An error means that the WebSocket has ended.
func (echo) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) { _ = s.Write(t, data) }

// keptBuffer is the largest buffer in bytes that echoConn keeps for the next message.
const keptBuffer = 64 << 10

// echoConn is the handler of -api conn. It sends each message back until the WebSocket ends.
func echoConn(c *ws.Conn) {
	ctx := context.Background()
	var buf []byte
	for {
		t, data, err := c.AppendRead(ctx, buf[:0])
		if err != nil {
			return
		}
		if c.Write(ctx, t, data) != nil {
			return
		}
		if buf = data; cap(buf) > keptBuffer {
			buf = nil
		}
	}
}
