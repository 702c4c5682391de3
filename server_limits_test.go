package gale

import (
	"io"
	"testing"
	"time"
)

func TestConcurrencyLimit(t *testing.T) {
	s := &Server{Concurrency: 2}
	held, release := make(chan struct{}), make(chan struct{})
	ts := startServer(t, s, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/hold" {
			held <- struct{}{}
			<-release
		}
	})
	a, b := ts.dial(), ts.dial()
	a.send(get("/hold"))
	<-held // a connection whose request hasn't arrived is idle too
	b.wantOpen()
	for s.idleConns() != 1 {
		time.Sleep(time.Millisecond)
	}
	c := ts.dial() // b is idle, so it is evicted
	c.send(get("/hold"))
	<-held
	b.wantClosed()
	d := ts.dial()
	if ans := d.read("GET"); ans.StatusCode != 503 || !ans.Close {
		t.Errorf("got %d, want 503 and close", ans.StatusCode)
	}
	d.wantClosed()
	close(release)
	a.want("GET", 200, "")
	c.want("GET", 200, "")
	if n := s.GetRejectedConnectionsCount(); n != 1 {
		t.Errorf("%d rejected, want 1", n)
	}
}

func TestMaxConnsPerIP(t *testing.T) {
	ts := startServer(t, &Server{MaxConnsPerIP: 1}, echo)
	a := ts.dial()
	a.wantOpen()
	b := ts.dial()
	if ans := b.read("GET"); ans.StatusCode != 429 {
		t.Errorf("got %d", ans.StatusCode)
	}
	a.Close()
	await(t, "the place of a closed connection to be given again", func() bool {
		c := ts.dial()
		defer c.Close()
		_, _ = io.WriteString(c, get("/")) // fails if it was refused long ago
		status, err := c.status()
		return err == nil && status == 200
	})
}

func TestTimeouts(t *testing.T) {
	s := &Server{IdleTimeout: 100 * time.Millisecond, ReadTimeout: 300 * time.Millisecond}
	ts := startServer(t, s, echo)
	c := ts.dial()
	c.wantOpen()
	c.wantClosed() // idle
	c = ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
	if a := c.read("POST"); a.StatusCode != 408 {
		t.Errorf("got %d for a body that does not come", a.StatusCode)
	}
	c.wantClosed()
	c = ts.dial() // sends nothing at all
	if a := c.read("GET"); a.StatusCode != 408 {
		t.Errorf("got %d for no request", a.StatusCode)
	}
	c.wantClosed()
}
