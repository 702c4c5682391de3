package gale

import (
	"testing"
	"time"
)

func TestIdleTimeoutBehindSlowHandler(t *testing.T) {
	ts := startServer(t, &Server{IdleTimeout: 300 * time.Millisecond}, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			time.Sleep(600 * time.Millisecond)
		}
	})
	c := ts.dial()
	c.send(get("/slow"))
	c.want("GET", 200, "")
	time.Sleep(100 * time.Millisecond)
	c.send(get("/"))
	c.want("GET", 200, "")
}

func TestHeadTimeoutBehindSlowHandler(t *testing.T) {
	ts := startServer(t, &Server{ReadHeaderTimeout: 300 * time.Millisecond}, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			time.Sleep(600 * time.Millisecond)
		}
	})
	c := ts.dial()
	c.send(get("/slow") + "GET /x HTTP/1.1\r\nHo")
	c.want("GET", 200, "")
	time.Sleep(50 * time.Millisecond)
	c.send("st: h\r\n\r\n")
	c.want("GET", 200, "")
}

func TestBodyTimeoutBehindSlowHandler(t *testing.T) {
	ts := startServer(t, &Server{ReadTimeout: 300 * time.Millisecond}, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			time.Sleep(600 * time.Millisecond)
		}
	})
	c := ts.dial()
	c.send(get("/slow") + "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab")
	c.want("GET", 200, "")
	time.Sleep(50 * time.Millisecond)
	c.send("cd")
	c.want("POST", 200, "")
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
