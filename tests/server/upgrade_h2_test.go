package server

import (
	"errors"
	"testing"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// An UpgradeHandler gets the stream of an extended CONNECT as it gets a connection of
// HTTP/1.1, and other streams of the connection go on.
func TestUpgradeH2(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		why := errors.New("killed")
		closed := make(chan error, 1)
		s := &gale.Server{HTTP2: gale.HTTP2Config{WebSocket: true}, Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/refuse" {
				ctx.SetStatusCode(403)
			}
			ctx.Upgrade(&harness.UpgradeFuncs{
				OnOpened: func(c *gale.UpgradedConn) {
					*c.Out() = append(*c.Out(), "hello"...)
					if (c.TLS() != nil) != way.TLS || c.ID() == 0 || c.Opened().IsZero() {
						t.Error(c.TLS(), c.ID(), c.Opened())
					}
				},
				OnReceived: func(c *gale.UpgradedConn, in []byte) int {
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
				OnClosed: func(c *gale.UpgradedConn, err error) { closed <- err },
			})
		}}
		hs := way.Start(t, s)
		c := hs.DialH2()
		connect := func(text string) uint32 {
			id := c.Connect("/")
			c.Await(id, "200")
			c.WantData(id, "hello")
			c.Data(id, text, false)
			return id
		}
		want := func(want error) {
			t.Helper()
			if err := <-closed; err != want {
				t.Errorf("Closed got %v, want %v", err, want)
			}
		}
		if status, _, _ := c.Answer(c.Connect("/refuse")); status != "403" {
			t.Errorf("a refusal is %s", status)
		}
		id := connect("echo")
		c.WantData(id, "echo")
		if n := s.Stats().UpgradedConnections; n != 1 {
			t.Errorf("%d are counted", n)
		}
		c.Data(id, "", true)
		c.WantEnd(id, "data", http2.ErrCodeNo)
		want(nil)
		c.WantEnd(connect("abort"), "rst", http2.ErrCodeCancel)
		want(nil)
		c.WantEnd(connect("kill"), "rst", http2.ErrCodeCancel)
		want(why)
		id = connect("large") // more than the windows allow
		c.Await(id, "data")
		c.Reset(id)
		if err := <-closed; err == nil {
			t.Error("Closed got no error after a reset")
		}
		c.Check(c.Fr.WriteWindowUpdate(0, 1<<20)) // what the stream has used up
		if status, _, _ := c.Answer(c.Open("GET", "/", true)); status != "501" {
			t.Errorf("a GET is answered with %s", status)
		}
		id = connect("more")
		c.WantData(id, "more")
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		c.WantData(id, "bye")
		c.Data(id, "", true)
		want(nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
