package gale

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// An UpgradeHandler gets the stream of an extended CONNECT as it gets a connection of
// HTTP/1.1, and other streams of the connection go on.
func TestUpgradeH2(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		why := errors.New("killed")
		closed := make(chan error, 1)
		s := &Server{HTTP2: HTTP2Config{WebSocket: true}, Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/refuse" {
				ctx.SetStatusCode(403)
			}
			ctx.Upgrade(&upgradeFuncs{
				opened: func(c *UpgradedConn) {
					*c.Out() = append(*c.Out(), "hello"...)
					if (c.TLS() != nil) != way.tls || c.ID() == 0 || c.Opened().IsZero() {
						t.Error(c.TLS(), c.ID(), c.Opened())
					}
				},
				received: func(c *UpgradedConn, in []byte) int {
					switch {
					case c.Stopping():
						*c.Out() = append(*c.Out(), "bye"...)
						c.Close()
					case string(in) == "abort":
						c.Abort()
					case string(in) == "kill":
						go c.Kill(why)
					case string(in) == "large":
						if done, err := c.Send(make([]byte, 1<<20)); done || err == nil {
							t.Errorf("Send: %v, %v", done, err)
						}
					default:
						*c.Out() = append(*c.Out(), in...)
					}
					return len(in)
				},
				closed: func(c *UpgradedConn, err error) { closed <- err },
			})
		}}
		hs := way.start(t, s)
		c := hs.dialH2()
		connect := func(text string) uint32 {
			id := c.connect("/")
			c.await(id, "200")
			c.wantData(id, "hello")
			c.data(id, text, false)
			return id
		}
		want := func(want error) {
			t.Helper()
			if err := <-closed; err != want {
				t.Errorf("Closed got %v, want %v", err, want)
			}
		}
		if status, _, _ := c.answer(c.connect("/refuse")); status != "403" {
			t.Errorf("a refusal is %s", status)
		}
		id := connect("echo")
		c.wantData(id, "echo")
		if n := s.Stats().UpgradedConnections; n != 1 {
			t.Errorf("%d are counted", n)
		}
		c.data(id, "", true)
		c.wantEnd(id, "data", http2.ErrCodeNo)
		want(nil)
		c.wantEnd(connect("abort"), "rst", http2.ErrCodeCancel)
		want(nil)
		c.wantEnd(connect("kill"), "rst", http2.ErrCodeCancel)
		want(why)
		id = connect("large") // more than the windows allow
		c.await(id, "data")
		c.reset(id)
		if err := <-closed; err == nil {
			t.Error("Closed got no error after a reset")
		}
		c.check(c.fr.WriteWindowUpdate(0, 1<<20)) // what the stream has used up
		if status, _, _ := c.answer(c.open("GET", "/", true)); status != "501" {
			t.Errorf("a GET is answered with %s", status)
		}
		id = connect("more")
		c.wantData(id, "more")
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		c.wantData(id, "bye")
		c.data(id, "", true)
		want(nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// wantData reads DATA of a stream.
func (c *h2Conn) wantData(stream uint32, want string) {
	c.t.Helper()
	got := ""
	for len(got) < len(want) {
		got += c.await(stream, "data").data
	}
	if !strings.HasPrefix(got, want) || len(got) > len(want) {
		c.t.Fatalf("got %q, want %q", got, want)
	}
}
