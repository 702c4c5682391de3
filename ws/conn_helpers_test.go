package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// serveConns starts a server that calls handler for each WebSocket. It ends with the test.
func serveConns(t testing.TB, w way, handler func(c *Conn), o *Options) *socketServer {
	return serveRequests(t, w, func(ctx *gale.RequestCtx) { _ = Accept(ctx, handler, o) })
}

// echoConn answers each message with the same.
func echoConn(c *Conn) {
	var buf []byte
	for {
		t, data, err := c.AppendRead(context.Background(), buf[:0])
		if err != nil || c.Write(context.Background(), t, data) != nil {
			return
		}
		buf = data
	}
}

// url returns the address of s with the scheme ws or wss.
func (s *socketServer) url() string {
	if s.way.tls {
		return "wss://" + s.addr + "/"
	}
	return "ws://" + s.addr + "/"
}

// open dials s. The Conn is closed with the test.
func (s *socketServer) open(t testing.TB, o *DialOptions) *Conn {
	t.Helper()
	var own DialOptions
	if o != nil {
		own = *o
	}
	own.TLSConfig = &tls.Config{InsecureSkipVerify: true}
	c, resp, err := Dial(testContext(t), s.url(), &own)
	if err != nil {
		t.Fatalf("Dial: %v, %v", err, resp)
	}
	t.Cleanup(func() { c.CloseNow() })
	return c
}

// testContext returns a context that ends after patience.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// checkEcho sends a message and checks that the same comes back.
func checkEcho(t testing.TB, c *Conn, typ MessageType, text string) {
	t.Helper()
	ctx := testContext(t)
	if err := c.Write(ctx, typ, []byte(text)); err != nil {
		t.Fatalf("Write: %v", err)
	}
	got, data, err := c.Read(ctx)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if got != typ || string(data) != text {
		t.Fatalf("got %v %.40q (%d bytes), want %v %.40q (%d bytes)", got, data, len(data), typ, text, len(text))
	}
}

// wantCloseError checks that err is a *CloseError.
func wantCloseError(t testing.TB, err error, code StatusCode, local bool) {
	t.Helper()
	var ce *CloseError
	if !errors.As(err, &ce) || ce.Code != code || ce.Local != local {
		t.Fatalf("got error %v, want CloseError %d, Local %v", err, code, local)
	}
}

// checkNoLeaks checks, when the test ends, that no goroutine of a Conn is left.
func checkNoLeaks(t testing.TB) {
	t.Cleanup(func() {
		await.Gone(t, "goroutines of Conns", func() bool {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			return !strings.Contains(string(stacks), "gale/ws.(*Conn)")
		})
	})
}
