package compat

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/coder/websocket"
	fast "github.com/fasthttp/websocket"
	contrib "github.com/gofiber/contrib/websocket"
	fiber2 "github.com/gofiber/fiber/v2"
	fiber3 "github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// connection is what the libraries' connections have in common.
type connection interface {
	ReadMessage() (messageType int, p []byte, err error)
	WriteMessage(messageType int, data []byte) error
}

// echo sends each message back. ended gets the error at the end.
func echo(c connection, ended chan<- error) {
	for {
		t, data, err := c.ReadMessage()
		if err == nil {
			err = c.WriteMessage(t, data)
		}
		if err != nil {
			ended <- err
			return
		}
	}
}

// TestEcho proves that each library upgrades connections of Gale, and sends and receives
// messages, also compressed ones, and status codes.
func TestEcho(t *testing.T) {
	for _, library := range []struct {
		name  string
		serve func(ln net.Listener, ended chan<- error) error
	}{
		{"fasthttp/websocket", func(ln net.Listener, ended chan<- error) error {
			u := fast.FastHTTPUpgrader{EnableCompression: true}
			return fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
				if err := u.Upgrade(ctx, func(c *fast.Conn) { echo(c, ended) }); err != nil {
					ended <- err
				}
			})
		}},
		{"Fiber 2", func(ln net.Listener, ended chan<- error) error {
			app := fiber2.New(fiber2.Config{DisableStartupMessage: true})
			app.Get("/", contrib.New(func(c *contrib.Conn) { echo(c, ended) }, contrib.Config{EnableCompression: true}))
			return app.Listener(ln)
		}},
		{"Fiber 3", func(ln net.Listener, ended chan<- error) error {
			app := fiber3.New()
			u := fast.FastHTTPUpgrader{EnableCompression: true}
			app.Get("/", func(c fiber3.Ctx) error {
				return u.Upgrade(c.RequestCtx(), func(c *fast.Conn) { echo(c, ended) })
			})
			return app.Listener(ln, fiber3.ListenConfig{DisableStartupMessage: true})
		}},
	} {
		t.Run(library.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended, served := make(chan error, 10), make(chan error, 1)
			go func() { served <- library.serve(ln, ended) }()
			t.Cleanup(func() {
				_ = ln.Close()
				<-served
			})
			for _, mode := range []websocket.CompressionMode{websocket.CompressionDisabled, websocket.CompressionNoContextTakeover} {
				talk(t, "ws://"+ln.Addr().String()+"/", mode, ended)
			}
		})
	}
}

// talk sends messages, closes, and checks how the server saw that.
func talk(t *testing.T, url string, mode websocket.CompressionMode, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{CompressionMode: mode, CompressionThreshold: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(-1)
	for _, n := range []int{0, 5, 126, 1 << 16, 1 << 20} {
		data := bytes.Repeat([]byte("ab"), n/2)
		written := make(chan error, 1)
		go func() { written <- c.Write(ctx, websocket.MessageText, data) }()
		kind, got, err := c.Read(ctx)
		if err != nil || kind != websocket.MessageText || !bytes.Equal(got, data) {
			t.Fatalf("the echo of %d bytes has %d, type %v: %v", len(data), len(got), kind, err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(4001, "bye"); err != nil {
		t.Error(err)
	}
	var closed *fast.CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != 4001 || closed.Text != "bye" {
		t.Errorf("the server saw the end %v, want 4001 bye", err)
	}
}
