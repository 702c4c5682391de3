package gale

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// behindSlowHandler sends a first request, whose handler takes twice as long as limit,
// together with the beginning of a second one. Then it sends the rest of the second one,
// long before limit has passed again. It returns an error unless that is answered.
func behindSlowHandler(t *testing.T, s *Server, limit time.Duration, begin, rest string) error {
	ts := startServer(t, s, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			time.Sleep(2 * limit)
		}
	})
	c := ts.dial()
	c.send(get("/slow") + begin)
	if status, err := c.status(); status != 200 {
		return fmt.Errorf("the first response: %d, %v", status, err)
	}
	time.Sleep(limit / 6)
	_, _ = io.WriteString(c, rest)
	if status, err := c.status(); status != 200 {
		return fmt.Errorf("the second response: %d, %v", status, err)
	}
	return nil
}

// status reads a response and returns its status.
func (c *testConn) status() (int, error) {
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestIdleTimeoutBehindSlowHandler(t *testing.T) {
	withMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &Server{IdleTimeout: limit}, limit, "", get("/"))
	})
}

func TestHeadTimeoutBehindSlowHandler(t *testing.T) {
	withMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &Server{ReadHeaderTimeout: limit}, limit, "GET /x HTTP/1.1\r\nHo", "st: h\r\n\r\n")
	})
}

func TestBodyTimeoutBehindSlowHandler(t *testing.T) {
	withMoreTime(t, 300*time.Millisecond, func(limit time.Duration) error {
		return behindSlowHandler(t, &Server{ReadTimeout: limit}, limit, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab", "cd")
	})
}

func TestWriteDeadlineIsAbsolute(t *testing.T) {
	failed := make(chan error, 1)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			ctx.WriteString("x")
			err = ctx.Flush()
			time.Sleep(25 * time.Millisecond)
		}
		failed <- err
	})
	c := ts.dial()
	c.send(get("/"))
	if err := <-failed; err == nil {
		t.Error("no error a second after the write deadline")
	}
}
