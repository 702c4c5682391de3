package server

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestPanic(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SetBodyString("not to be seen")
		switch string(ctx.Path()) {
		case "/panic":
			panic("on purpose")
		case "/abort":
			panic(gale.ErrAbortHandler)
		case "/late":
			ctx.Flush()
			panic("late")
		case "/timeout":
			gale.TimeoutHandler(func(*gale.RequestCtx) { panic("inside") }, time.Minute, "slow")(ctx)
		}
	})
	for path, logged := range map[string]string{"/panic": "on purpose", "/timeout": "inside"} {
		c := ts.Dial()
		c.Send(peers.Get(path) + peers.Get("/smuggled"))
		if a := c.Want("GET", 500, "Internal Server Error"); !a.Close {
			t.Error("the connection stays open")
		}
		c.WantClosed()
		if !strings.Contains(ts.Log.String(), logged) || !strings.Contains(ts.Log.String(), "goroutine") {
			t.Errorf("the log %q lacks %q with a stack", ts.Log, logged)
		}
	}
	for _, path := range []string{"/abort", "/late"} {
		c := ts.Dial()
		c.Send(peers.Get(path))
		b, _ := io.ReadAll(c.Br)
		if path == "/abort" && len(b) > 0 || strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	if n := ts.S.GetPanicsCount(); n != 3 {
		t.Errorf("%d panics counted, want 3", n)
	}
	c := ts.Dial()
	c.WantOpen()
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
	s := &gale.Server{HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
		if string(h.RequestURI()) == "/hook" {
			panic("on purpose")
		}
		return gale.RequestConfig{}
	}}
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
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
		c := ts.Dial()
		c.Send(peers.Get(path))
		// The answer to /value was complete when its value was closed.
		if b, _ := io.ReadAll(c.Br); path != "/value" && strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	await.Until(t, "the panics to be counted", func() bool { return s.GetPanicsCount() >= uint64(len(paths)) })
	if n := s.GetPanicsCount(); n != uint64(len(paths)) {
		t.Errorf("%d panics counted, want %d", n, len(paths))
	}
	ts.Dial().WantOpen()
}
