package main

import (
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/lab/servers/work"
	"github.com/galehttp/gale/ws"
)

var webSockets = ws.Options{MaxMessage: work.MaxBody, QueuePolicy: ws.QueueWait}

// echo sends each message of a WebSocket back.
type echo struct{ ws.Base }

func (echo) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) { _ = s.Write(t, data) }

func echoMessages(ctx *gale.RequestCtx) { _ = ws.Serve(ctx, echo{}, &webSockets) }
