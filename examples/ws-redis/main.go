// Ws-redis is a chat whose processes share their rooms by the publish and subscribe of
// Redis: a message that reaches one process goes to the clients of all.
//
//	go run . -addr 127.0.0.1:8080 -redis 127.0.0.1:6379
//	go run . -addr 127.0.0.1:8081 -redis 127.0.0.1:6379
//
// Then connect WebSockets to ws://127.0.0.1:8080/lobby and ws://127.0.0.1:8081/lobby.
package main

import (
	"context"
	"flag"
	"log"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	redisAddr := flag.String("redis", "127.0.0.1:6379", "the Redis server's `HOST:PORT`")
	flag.Parse()

	client := redis.NewClient(&redis.Options{Addr: *redisAddr})
	var topics ws.Topics
	topics.Broker = newBroker(client, &topics)
	server := &gale.Server{
		Handler: func(ctx *gale.RequestCtx) { handle(&topics, ctx) },
		// These have no default. They don't apply to WebSockets.
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}

func handle(topics *ws.Topics, ctx *gale.RequestCtx) {
	room := strings.TrimPrefix(string(ctx.Path()), "/")
	if room == "" || len(room) > 64 {
		ctx.Error("try a WebSocket to /lobby", gale.StatusNotFound)
		return
	}
	if err := ws.Serve(ctx, &member{topics: topics, room: room}, nil); err != nil {
		ctx.Logger().Printf("no WebSocket: %v", err) // Serve has set the answer
	}
}

// member is the ws.Handler of one client.
type member struct {
	ws.Base
	topics *ws.Topics
	room   string
}

// OnOpen may wait for Redis: it holds up no other client.
func (m *member) OnOpen(s *ws.Socket) {
	if err := m.topics.Subscribe(s, m.room); err != nil {
		log.Print(err)
		s.Close(ws.StatusTryAgainLater, "")
	}
}

func (m *member) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
	if err := m.topics.Publish(m.room, t, data); err != nil {
		log.Print(err)
		s.Close(ws.StatusTryAgainLater, "")
	}
}
