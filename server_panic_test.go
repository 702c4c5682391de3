package gale

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestPanic(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SetBodyString("not to be seen")
		switch string(ctx.Path()) {
		case "/panic":
			panic("on purpose")
		case "/abort":
			panic(ErrAbortHandler)
		case "/late":
			ctx.Flush()
			panic("late")
		case "/timeout":
			TimeoutHandler(func(*RequestCtx) { panic("inside") }, time.Minute, "slow")(ctx)
		}
	})
	for path, logged := range map[string]string{"/panic": "on purpose", "/timeout": "inside"} {
		c := ts.dial()
		c.send(get(path) + get("/smuggled"))
		if a := c.want("GET", 500, "Internal Server Error"); !a.Close {
			t.Error("the connection stays open")
		}
		c.wantClosed()
		if !strings.Contains(ts.log.String(), logged) || !strings.Contains(ts.log.String(), "goroutine") {
			t.Errorf("the log %q lacks %q with a stack", ts.log, logged)
		}
	}
	for _, path := range []string{"/abort", "/late"} {
		c := ts.dial()
		c.send(get(path))
		b, _ := io.ReadAll(c.br)
		if path == "/abort" && len(b) > 0 || strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	if n := ts.s.GetPanicsCount(); n != 3 {
		t.Errorf("%d panics counted, want 3", n)
	}
	c := ts.dial()
	c.wantOpen()
}

// panicCloser is a body stream and a user value that panics.
type panicCloser struct{ read bool }

func (p panicCloser) Read(b []byte) (int, error) {
	if p.read {
		panic("on purpose")
	}
	return 0, io.EOF
}

func (p panicCloser) Close() error { panic("on purpose") }

// A panic of user code never ends the process, wherever it happens.
func TestPanicOutsideHandler(t *testing.T) {
	s := &Server{HeaderReceived: func(h *RequestHeader) RequestConfig {
		if string(h.RequestURI()) == "/hook" {
			panic("on purpose")
		}
		return RequestConfig{}
	}}
	ts := startServer(t, s, func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/read":
			ctx.SetBodyStream(panicCloser{read: true}, -1)
		case "/close":
			ctx.SetBodyStream(panicCloser{}, -1)
		case "/value":
			ctx.SetUserValue("v", panicCloser{})
		}
	})
	paths := []string{"/hook", "/read", "/close", "/value"}
	for _, path := range paths {
		c := ts.dial()
		c.send(get(path))
		// The answer to /value was complete when its value was closed.
		if b, _ := io.ReadAll(c.br); path != "/value" && strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	await(t, "the panics to be counted", func() bool { return s.GetPanicsCount() >= uint64(len(paths)) })
	if n := s.GetPanicsCount(); n != uint64(len(paths)) {
		t.Errorf("%d panics counted, want %d", n, len(paths))
	}
	ts.dial().wantOpen()
}
