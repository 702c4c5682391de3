package server

import (
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestMaxConnsPerIP(t *testing.T) {
	ts := harness.Start(t, &gale.Server{MaxConnsPerIP: 1}, harness.Echo)
	a := ts.Dial()
	a.WantOpen()
	b := ts.Dial()
	if ans := b.Answer("GET"); ans.StatusCode != 429 {
		t.Errorf("got %d", ans.StatusCode)
	}
	a.Close()
	await.Until(t, "the place of a closed connection to be given again", func() bool {
		c := ts.Dial()
		defer c.Close()
		_, _ = io.WriteString(c, peers.Get("/")) // fails if it was refused long ago
		status, err := c.Status()
		return err == nil && status == 200
	})
}

func TestTimeouts(t *testing.T) {
	s := &gale.Server{IdleTimeout: 100 * time.Millisecond, ReadTimeout: 300 * time.Millisecond}
	ts := harness.Start(t, s, harness.Echo)
	c := ts.Dial()
	c.WantOpen()
	c.WantClosed() // idle
	c = ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
	if a := c.Answer("POST"); a.StatusCode != 408 {
		t.Errorf("got %d for a body that does not come", a.StatusCode)
	}
	c.WantClosed()
	c = ts.Dial() // sends nothing at all
	if a := c.Answer("GET"); a.StatusCode != 408 {
		t.Errorf("got %d for no request", a.StatusCode)
	}
	c.WantClosed()
}
