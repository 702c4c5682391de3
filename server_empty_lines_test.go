package gale

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Empty lines before a request, in whatever pieces, neither start the timeout of the head
// nor restart the idle timeout, and only a few are allowed.
func TestEmptyLinesAndClocks(t *testing.T) {
	const limit = 10 * time.Second
	server := func() *Server {
		return &Server{Handler: echo, ReadHeaderTimeout: limit, IdleTimeout: time.Minute}
	}
	for _, lines := range []string{"\r\n", "\r|\n", "\r\n\r|\n|\r\n", "\r", "\r\n\r"} {
		t.Run(strings.NewReplacer("\r", "r", "\n", "n").Replace(lines), func(t *testing.T) {
			inBubble(t, server(), func(t *testing.T, c *testConn) {
				c.send(get("/"))
				c.want("GET", 200, "GET / ")
				for _, b := range strings.Split(lines, "|") {
					time.Sleep(limit)
					c.send(b)
				}
				time.Sleep(limit)
				if strings.HasSuffix(lines, "\r") {
					c.send("\n")
				}
				c.send("GET / HTTP/1.1\r\nHo")
				time.Sleep(limit - time.Second)
				c.send("st: h\r\n\r\n")
				c.want("GET", 200, "GET / ")
			})
			inBubble(t, server(), func(t *testing.T, c *testConn) {
				c.send(get("/"))
				c.want("GET", 200, "GET / ")
				d := took(func() {
					for _, b := range strings.Split(lines, "|") {
						time.Sleep(limit)
						c.send(b)
					}
					c.wantClosed()
				})
				if d != time.Minute {
					t.Errorf("idle for %v, want a minute", d)
				}
			})
		})
	}
	// The first request: the time for its head begins with the connection.
	inBubble(t, server(), func(t *testing.T, c *testConn) {
		c.send("\r")
		if d := took(c.wantClosed); d != limit {
			t.Errorf("a CR holds a new connection for %v", d)
		}
	})
	// A slow client: one byte every 9 seconds.
	inBubble(t, server(), func(t *testing.T, c *testConn) {
		c.send(get("/"))
		c.want("GET", 200, "GET / ")
		stop := make(chan struct{})
		go func() {
			for i := range 1000 {
				if _, err := c.Write([]byte{"\r\n"[i%2]}); err != nil {
					break
				}
				time.Sleep(limit - time.Second)
			}
			close(stop)
		}()
		d := took(func() { _, _ = io.ReadAll(c.br) })
		if d > time.Minute {
			t.Errorf("dribbled empty lines hold a connection for %v", d)
		}
		<-stop
	})
	// Nine empty lines are ignored, the tenth is an error, at once and in pieces.
	for n, status := range map[int]int{9: 200, 10: 400} {
		for _, piece := range []int{1, 2, 3, 100} {
			inBubble(t, server(), func(t *testing.T, c *testConn) {
				c.send(get("/"))
				c.want("GET", 200, "GET / ")
				in := strings.Repeat("\r\n", n) + get("/")
				for len(in) > 0 && in[0] < ' ' {
					m := min(piece, 2*n, len(in))
					_, _ = c.Write([]byte(in[:m])) // fails once the server has refused
					in = in[m:]
					synctest.Wait()
				}
				_, _ = c.Write([]byte(in))
				if a := c.read("GET"); a.StatusCode != status {
					t.Errorf("status %d after %d empty lines, %d bytes at a time", a.StatusCode, n, piece)
				}
			})
		}
	}
	// A CR without LF is refused, in whatever pieces it arrives.
	inBubble(t, server(), func(t *testing.T, c *testConn) {
		c.send("\r")
		synctest.Wait()
		c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if a := c.read("GET"); a.StatusCode != 400 {
			t.Errorf("status %d for a head after a bare CR", a.StatusCode)
		}
	})
}

// An empty line in two pieces on sockets: the next head has its full timeout.
func TestSplitEmptyLineOnSockets(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		withMoreTime(t, time.Second, func(limit time.Duration) error {
			ts := startServer(t, &Server{Engine: e, ReadHeaderTimeout: limit}, echo)
			c := ts.dial()
			c.send(get("/"))
			if status, err := c.status(); status != 200 {
				return fmt.Errorf("the first response: %d, %v", status, err)
			}
			c.send("\r")
			time.Sleep(20 * time.Millisecond) // most likely it arrives alone; the test holds either way
			c.send("\n")
			time.Sleep(limit) // a timeout that the CR had started would have passed
			c.send("GET /again HTTP/1.1\r\nHo")
			time.Sleep(20 * time.Millisecond)
			_, _ = io.WriteString(c, "st: h\r\n\r\n")
			if status, err := c.status(); status != 200 {
				return fmt.Errorf("the second response: %d, %v", status, err)
			}
			return nil
		})
	})
}
