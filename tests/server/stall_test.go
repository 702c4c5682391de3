package server

import (
	"cmp"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A negative stall timeout means no timeout.
func TestReadStallOff(t *testing.T) {
	harness.InBubble(t, &gale.Server{ReadStallTimeout: -1, Handler: harness.Echo}, func(t *testing.T, c *peers.Conn) {
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		time.Sleep(time.Hour) // by the clock of the bubble
		c.Send("y")
		c.Want("POST", 200, "POST / xy")
	})
}

// HeaderReceived may give one request another stall timeout.
func TestReadStallOfOneRequest(t *testing.T) {
	s := &gale.Server{Handler: harness.Echo, HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
		if string(h.RequestURI()) == "/slow" {
			return gale.RequestConfig{ReadStallTimeout: -1}
		}
		return gale.RequestConfig{ReadStallTimeout: 2 * time.Second}
	}}
	harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
		c.Send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		time.Sleep(time.Hour) // by the clock of the bubble
		c.Send("y")
		c.Want("POST", 200, "POST /slow xy")
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		if d := peers.Took(func() { c.Want("POST", 408, "Request timeout") }); d != 2*time.Second {
			t.Errorf("ended after %v", d)
		}
	})
}

// The read of a streamed body that stops arriving fails, the handler answers, and
// the connection is closed.
func TestReadStallOfStream(t *testing.T) {
	s := &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
		b, err := io.ReadAll(ctx.RequestBodyStream())
		if !errors.Is(err, gale.ErrTimeout) {
			t.Errorf("read %q, %v", b, err)
		}
		ctx.WriteString("got " + string(b))
	}}
	harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
		for range 3 {
			time.Sleep(20 * time.Second) // a slow client, by the clock of the bubble
			c.Send("x")
		}
		var a peers.Answer
		if d := peers.Took(func() { a = c.Want("POST", 200, "got xxx") }); d != gale.DefaultStallTimeout {
			t.Errorf("ended after %v", d)
		}
		if !a.Close {
			t.Error("the answer doesn't say that the connection is closed")
		}
		c.WantClosed()
		if n := s.Stats().Timeouts; n != 1 {
			t.Errorf("%d time-outs were counted, want 1", n)
		}
	})
}

// The same on sockets, on both engines.
func TestReadStallOnSockets(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, stream := range []bool{false, true} {
			s := &gale.Server{Engine: e, StreamRequestBody: stream, ReadStallTimeout: 200 * time.Millisecond, Handler: func(ctx *gale.RequestCtx) {
				if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); !errors.Is(err, gale.ErrTimeout) {
					t.Errorf("a streamed body ended with %v", err)
				}
				ctx.SetStatusCode(gale.StatusRequestTimeout)
				ctx.WriteString("Request timeout")
			}}
			ts := harness.Start(t, s, nil)
			c := ts.Dial()
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
			c.Want("POST", 408, "Request timeout")
			c.WantClosed()
		}
	})
}

// A body that stops arriving is answered with 408 after the stall timeout, also after the
// default one. Each byte restarts the time.
func TestReadStallOfBody(t *testing.T) {
	for _, limit := range []time.Duration{0, 5 * time.Second} {
		harness.InBubble(t, &gale.Server{ReadStallTimeout: limit, Handler: harness.Echo}, func(t *testing.T, c *peers.Conn) {
			want := cmp.Or(limit, gale.DefaultStallTimeout)
			c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
			for range 10 {
				time.Sleep(want - time.Second) // a slow client, by the clock of the bubble
				c.Send("x")
			}
			if d := peers.Took(func() { c.Want("POST", 408, "Request timeout") }); d != want {
				t.Errorf("limit %v: ended after %v, want %v", limit, d, want)
			}
			c.WantClosed()
		})
	}
}
