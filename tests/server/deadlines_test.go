package server

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// behindSlowHandler sends a first request, whose handler takes twice as long as limit,
// together with the beginning of a second one. Then it sends the rest of the second one,
// long before limit has passed again. It returns an error unless that is answered.
func behindSlowHandler(t *testing.T, s *gale.Server, limit time.Duration, begin, rest string) error {
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			time.Sleep(2 * limit) // a slow handler
		}
	})
	c := ts.Dial()
	c.Send(peers.Get("/slow") + begin)
	if status, err := c.Status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	time.Sleep(limit / 6) // the server waits for the rest; nothing may happen in this time
	_, _ = io.WriteString(c, rest)
	if status, err := c.Status(); status != 200 {
		return fmt.Errorf("the second response: %d, %v", status, err)
	}
	return nil
}

func TestIdleTimeoutBehindSlowHandler(t *testing.T) {
	peers.WithMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &gale.Server{IdleTimeout: limit}, limit, "", peers.Get("/"))
	})
}

func TestHeadTimeoutBehindSlowHandler(t *testing.T) {
	peers.WithMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &gale.Server{ReadHeaderTimeout: limit}, limit, "GET /x HTTP/1.1\r\nHo", "st: h\r\n\r\n")
	})
}

func TestBodyTimeoutBehindSlowHandler(t *testing.T) {
	peers.WithMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &gale.Server{ReadTimeout: limit}, limit, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab", "cd")
	})
}

func TestWriteDeadlineIsAbsolute(t *testing.T) {
	failed := make(chan error, 1)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			ctx.WriteString("x")
			err = ctx.Flush()
			time.Sleep(25 * time.Millisecond) // a slow handler: a deadline for each write would not pass
		}
		failed <- err
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
	if err := <-failed; err == nil {
		t.Error("no error a second after the write deadline")
	}
}
