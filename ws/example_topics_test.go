package ws_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/ws"
)

// visitor is the Handler of one WebSocket.
type visitor struct {
	ws.Base
	rooms *ws.Topics
	room  string
}

func (v *visitor) OnOpen(s *ws.Socket) {
	if err := v.rooms.Subscribe(s, v.room); err != nil {
		s.Close(ws.StatusTryAgainLater, "")
	}
}

func (v *visitor) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
	_ = v.rooms.Publish(v.room, t, data) // to all in the room, v included
}

// There is a room for each path, and each message goes to all WebSockets of its room. A
// WebSocket that has ended leaves its room by itself.
func ExampleTopics() {
	var rooms ws.Topics
	server := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		v := &visitor{rooms: &rooms, room: string(ctx.Path())}
		if err := ws.Serve(ctx, v, nil); err != nil {
			ctx.Logger().Printf("no WebSocket: %v", err) // Serve has set the answer
		}
	}}
	ln := galeutil.NewInmemoryListener()
	go server.Serve(ln)
	defer server.Shutdown()

	ctx := context.Background()
	options := &ws.DialOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	for _, name := range []string{"ada", "bob"} {
		c, _, err := ws.Dial(ctx, "ws://localhost/lobby", options)
		if err != nil {
			log.Fatal(err)
		}
		defer c.CloseNow()
		if err := c.Write(ctx, ws.Text, []byte("Here is "+name)); err != nil {
			log.Fatal(err)
		}
		_, message, err := c.Read(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, to %d: %s\n", name, rooms.Members("/lobby"), message)
	}
	// Output:
	// ada, to 1: Here is ada
	// bob, to 2: Here is bob
}
