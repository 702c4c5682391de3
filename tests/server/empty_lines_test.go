package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Empty lines before a request, in whatever pieces, neither start the timeout of the head
// nor restart the idle timeout, and only a few are allowed.
func TestEmptyLinesAndClocks(t *testing.T) {
	const limit = 10 * time.Second
	server := func() *gale.Server {
		return &gale.Server{Handler: harness.Echo, ReadHeaderTimeout: limit, IdleTimeout: time.Minute}
	}
	for _, lines := range []string{"\r\n", "\r|\n", "\r\n\r|\n|\r\n", "\r", "\r\n\r"} {
		t.Run(strings.NewReplacer("\r", "r", "\n", "n").Replace(lines), func(t *testing.T) {
			harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
				c.Send(peers.Get("/"))
				c.Want("GET", 200, "GET / ")
				for _, b := range strings.Split(lines, "|") {
					time.Sleep(limit) // a slow client, by the clock of the bubble
					c.Send(b)
				}
				time.Sleep(limit) // the same
				if strings.HasSuffix(lines, "\r") {
					c.Send("\n")
				}
				c.Send("GET / HTTP/1.1\r\nHo")
				time.Sleep(limit - time.Second) // not longer than a head may take
				c.Send("st: h\r\n\r\n")
				c.Want("GET", 200, "GET / ")
			})
			harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
				c.Send(peers.Get("/"))
				c.Want("GET", 200, "GET / ")
				d := peers.Took(func() {
					for _, b := range strings.Split(lines, "|") {
						time.Sleep(limit) // a slow client
						c.Send(b)
					}
					c.WantClosed()
				})
				if d != time.Minute {
					t.Errorf("idle for %v, want a minute", d)
				}
			})
		})
	}
	// The first request: the time for its head begins with the connection.
	harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
		c.Send("\r")
		if d := peers.Took(c.WantClosed); d != limit {
			t.Errorf("a CR holds a new connection for %v", d)
		}
	})
	// A slow client: one byte every 9 seconds.
	harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "GET / ")
		stop := make(chan struct{})
		go func() {
			for i := range 1000 {
				if _, err := c.Write([]byte{"\r\n"[i%2]}); err != nil {
					break
				}
				time.Sleep(limit - time.Second) // a slow client
			}
			close(stop)
		}()
		d := peers.Took(func() { _, _ = io.ReadAll(c.Br) })
		if d > time.Minute {
			t.Errorf("dribbled empty lines hold a connection for %v", d)
		}
		<-stop
	})
	// Nine empty lines are ignored, the tenth is an error, at once and in pieces.
	for n, status := range map[int]int{9: 200, 10: 400} {
		for _, piece := range []int{1, 2, 3, 100} {
			harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
				c.Send(peers.Get("/"))
				c.Want("GET", 200, "GET / ")
				in := strings.Repeat("\r\n", n) + peers.Get("/")
				for len(in) > 0 && in[0] < ' ' {
					m := min(piece, 2*n, len(in))
					_, _ = c.Write([]byte(in[:m])) // fails once the server has refused
					in = in[m:]
					synctest.Wait()
				}
				_, _ = c.Write([]byte(in))
				if a := c.Answer("GET"); a.StatusCode != status {
					t.Errorf("status %d after %d empty lines, %d bytes at a time", a.StatusCode, n, piece)
				}
			})
		}
	}
	// A CR without LF is refused, in whatever pieces it arrives.
	harness.InBubble(t, server(), func(t *testing.T, c *peers.Conn) {
		c.Send("\r")
		synctest.Wait()
		c.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if a := c.Answer("GET"); a.StatusCode != 400 {
			t.Errorf("status %d for a head after a bare CR", a.StatusCode)
		}
	})
}

// An empty line in two pieces on sockets: the next head has its full timeout.
func TestSplitEmptyLineOnSockets(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		peers.WithMoreTime(t, time.Second, func(limit time.Duration) error {
			ts := harness.Start(t, &gale.Server{Engine: e, ReadHeaderTimeout: limit}, harness.Echo)
			c := ts.Dial()
			c.Send(peers.Get("/"))
			if status, err := c.Status(); status != 200 {
				return fmt.Errorf("the first response: %d, %v", status, err)
			}
			c.Send("\r")
			time.Sleep(20 * time.Millisecond) // most likely it arrives alone; the test holds either way
			c.Send("\n")
			time.Sleep(limit) // a timeout that the CR had started would have passed
			c.Send("GET /again HTTP/1.1\r\nHo")
			time.Sleep(20 * time.Millisecond) // most likely the part arrives alone
			_, _ = io.WriteString(c, "st: h\r\n\r\n")
			if status, err := c.Status(); status != 200 {
				return fmt.Errorf("the second response: %d, %v", status, err)
			}
			return nil
		})
	})
}
