package main

import (
	"github.com/fasthttp/websocket"
	"github.com/galehttp/gale/lab/servers/work"
	"github.com/valyala/fasthttp"
)

// echoMessages sends each message of a WebSocket back, with github.com/fasthttp/websocket.
func echoMessages(ctx *fasthttp.RequestCtx) {
	var upgrader websocket.FastHTTPUpgrader
	_ = upgrader.Upgrade(ctx, func(c *websocket.Conn) {
		defer func() { _ = c.Close() }()
		c.SetReadLimit(work.MaxBody)
		for {
			t, message, err := c.ReadMessage()
			if err != nil {
				return
			}
			if c.WriteMessage(t, message) != nil {
				return
			}
		}
	})
}
