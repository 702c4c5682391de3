package main

import (
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

const (
	maxMessage = 4 << 10          // bytes of a message
	pongWait   = 60 * time.Second // a client that sends nothing for so long has gone
	pingPeriod = 50 * time.Second // must be less than pongWait
	writeWait  = 10 * time.Second // for one message
)

// upgrader turns requests into WebSockets. By default it answers 403 to pages of other
// hosts. Keep that, or set CheckOrigin: browsers send cookies for such pages too.
var upgrader = websocket.FastHTTPUpgrader{}

// room sends each message of a client to all clients.
type room struct {
	mu      sync.Mutex
	clients map[chan []byte]bool // what waits to be sent to each
	closed  bool
	running sync.WaitGroup
}

func newRoom() *room { return &room{clients: make(map[chan []byte]bool)} }

// join turns the request into a WebSocket. r.serve runs after the handler has returned, so
// it must not use ctx.
func (r *room) join(ctx *fasthttp.RequestCtx) {
	if err := upgrader.Upgrade(ctx, r.serve); err != nil {
		ctx.Logger().Printf("no WebSocket: %v", err) // Upgrade has answered
	}
}

// serve reads from a client until it leaves. The connection is closed when it returns.
func (r *room) serve(conn *websocket.Conn) {
	out := make(chan []byte, 16)
	if !r.add(out) {
		return
	}
	defer r.running.Done()
	written := make(chan struct{})
	go func() {
		defer close(written)
		write(conn, out)
	}()

	conn.SetReadLimit(maxMessage)
	conn.SetReadDeadline(time.Now().Add(pongWait))
	conn.SetPongHandler(func(string) error {
		return conn.SetReadDeadline(time.Now().Add(pongWait))
	})
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			break // the client has gone, or broke a rule
		}
		if kind == websocket.TextMessage {
			r.send(message)
		}
	}
	r.remove(out)
	<-written
}

// write sends messages and pings. Only one goroutine may write to conn: this one.
func write(conn *websocket.Conn, out <-chan []byte) {
	defer conn.Close() // ends the reader, too
	ping := time.NewTicker(pingPeriod)
	defer ping.Stop()
	for {
		kind, message := websocket.PingMessage, []byte(nil)
		select {
		case m, ok := <-out:
			if !ok {
				bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
				_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(writeWait))
				return
			}
			kind, message = websocket.TextMessage, m
		case <-ping.C:
		}
		conn.SetWriteDeadline(time.Now().Add(writeWait))
		if err := conn.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

// add reports whether the room is open.
func (r *room) add(out chan []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.clients[out] = true
	r.running.Add(1)
	return true
}

// send sends a message to all clients. A client that doesn't keep up is disconnected.
func (r *room) send(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for out := range r.clients {
		select {
		case out <- message:
		default:
			delete(r.clients, out)
			close(out)
		}
	}
}

func (r *room) remove(out chan []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[out] {
		delete(r.clients, out)
		close(out)
	}
}

// close sends a close frame to all clients and waits until they have gone.
func (r *room) close() {
	r.mu.Lock()
	r.closed = true
	for out := range r.clients {
		delete(r.clients, out)
		close(out)
	}
	r.mu.Unlock()
	r.running.Wait()
}
