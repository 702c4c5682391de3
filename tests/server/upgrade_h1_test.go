package server

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// An UpgradeHandler gets the connection only with a response that lets the client go on
// with another protocol. With any other response the request is an ordinary one.
func TestUpgradeNeeds101(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		opened := make(chan struct{}, 1)
		h := &harness.UpgradeFuncs{
			OnOpened:   func(c *gale.UpgradedConn) { opened <- struct{}{} },
			OnReceived: func(c *gale.UpgradedConn, in []byte) int { c.Close(); return len(in) },
		}
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true, Logger: &peers.Log{}}, func(ctx *gale.RequestCtx) {
			ctx.Upgrade(h)
			if !ctx.Hijacked() {
				t.Error("Hijacked is false")
			}
			ctx.HijackSetNoResponse(true)
			ctx.SetStatusCode(101)
			switch string(ctx.Path()) {
			case "/refuse":
				ctx.SetStatusCode(403)
				ctx.SetBodyString("no")
			case "/ok":
				ctx.SetStatusCode(200)
			case "/102":
				ctx.SetStatusCode(102)
			case "/undo":
				ctx.Upgrade(nil)
				ctx.SetStatusCode(204)
			case "/fail":
				ctx.Fail(401, nil)
			case "/panic":
				panic(gale.ErrAbortHandler)
			case "/late":
				ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(503) })
			case "/timeout":
				ctx.TimeoutError("late")
			case "/flush":
				ctx.SetStatusCode(200)
				ctx.SetBodyString("part")
				_ = ctx.Flush()
				ctx.SetStatusCode(101)
			}
			if ctx.IsConnect() {
				ctx.SetStatusCode(200)
			}
		})
		const proto = " HTTP/1.1\r\nHost: h\r\n"
		for _, test := range []struct {
			request string
			status  int // 0: none
			goesOn  bool
			opens   bool
		}{
			{peers.Get("/"), 101, false, true},
			{peers.Get("/refuse"), 403, true, false},
			{peers.Get("/ok"), 200, true, false},
			{peers.Get("/102"), 500, true, false},
			{peers.Get("/undo"), 204, true, false},
			{peers.Get("/fail"), 401, true, false},
			{peers.Get("/panic"), 0, false, false},
			{peers.Get("/late"), 503, true, false},
			{peers.Get("/timeout"), 408, true, false},
			{peers.Get("/flush"), 200, true, false},
			{"GET / HTTP/1.0\r\nHost: h\r\n\r\n", 400, false, false},
			{"GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", 400, true, false},
			{"GET /" + proto + "Connection: close, upgrade\r\n\r\n", 400, false, false},
			{"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", 200, false, true},
			{peers.Post("/", "body"), 101, false, true},
			{"POST /" + proto + "Content-Length: 10000000\r\n\r\nxy", 101, false, false},
		} {
			t.Run(strings.Fields(test.request)[1]+fmt.Sprint(test.status), func(t *testing.T) {
				c := ts.Dial()
				c.T = t
				c.Send(test.request)
				if test.opens {
					c.Send("x")
				}
				if test.status != 0 {
					method, _, _ := strings.Cut(test.request, " ")
					if a := c.Answer(method); a.StatusCode != test.status {
						t.Errorf("got %d, want %d", a.StatusCode, test.status)
					}
				}
				if test.goesOn {
					c.Send(peers.Get("/refuse"))
					c.Want("GET", 403, "no")
				} else if rest, err := io.ReadAll(c.Br); len(rest) > 0 && test.status != 0 {
					t.Errorf("then read %q, %v", rest, err)
				}
				select {
				case <-opened:
					if !test.opens {
						t.Error("the handler got the connection")
					}
				default:
					if test.opens {
						t.Error("the handler did not get the connection")
					}
				}
			})
		}
	})
}

// Functions of AfterSend run when the response was written, and a detached context can be
// used on.
func TestUpgradeHooks(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		sent := make(chan error, 1)
		ctxs := make(chan *gale.RequestCtx, 1)
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.AfterSend(func(_ int64, err error) { sent <- err })
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X", "y") })
			ctx.SetStatusCode(101)
			ctx.Upgrade(harness.UpgradeLines())
			ctxs <- ctx.Detach()
		})
		c := ts.Dial()
		c.Send(peers.Get("/path"))
		if a := c.Answer("GET"); a.StatusCode != 101 || a.Header.Get("X") != "y" {
			t.Errorf("got %v", a.Response)
		}
		c.WantText("hello\n")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		ctx := <-ctxs
		<-ctx.Done()
		if path := string(ctx.Path()); path != "/path" {
			t.Errorf("the path is %q", path)
		}
		c.Send("bye\n")
		c.WantClosed()
	})
}

// Pipelined requests before an upgrade are answered before it.
func TestUpgradeAfterPipeline(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/" {
				ctx.SetStatusCode(101)
				ctx.Upgrade(harness.UpgradeLines())
				return
			}
			ctx.SetBodyString("one")
		})
		c := ts.Dial()
		c.Send(peers.Get("/1") + peers.Get("/2") + peers.Get("/") + "a\nbye\n")
		c.Want("GET", 200, "one")
		c.Want("GET", 200, "one")
		c.Want("GET", 101, "")
		c.WantText("hello\n<a>")
		c.WantClosed()
	})
}

// The server counts a connection of HijackCounted until its handler has returned, and
// Shutdown, which calls leave, waits for it.
func TestHijackCounted(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		states := make(chan gale.ConnState, 10)
		s := &gale.Server{Engine: e, MaxConnsPerIP: 2, KeepHijackedConns: true, Logger: &peers.Log{}}
		s.ConnState = func(_ net.Conn, st gale.ConnState) { states <- st }
		leave, end := make(chan struct{}, 2), make(chan struct{})
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			ctx.SetStatusCode(101)
			ctx.HijackCounted(func(nc net.Conn) {
				_, _ = io.WriteString(nc, "taken")
				<-end
				_, _ = io.WriteString(nc, "bye")
			}, func() {
				leave <- struct{}{}
				panic("on purpose too")
			})
		})
		c := ts.Dial()
		c.Send(peers.Get("/"))
		c.Want("GET", 101, "")
		c.WantText("taken")
		await.Until(t, "one connection", func() bool { // the server counts it twice while it hands it over
			st := s.Stats()
			return st.UpgradedConnections == 1 && st.OpenConnections == 1
		})
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		<-leave
		if len(done) > 0 {
			t.Error("Shutdown has returned")
		}
		close(end)
		c.WantText("bye")
		c.WantClosed()
		if err := <-done; err != nil {
			t.Error(err)
		}
		await.Until(t, "the end", func() bool { return s.Stats().UpgradedConnections == 0 && len(states) == 3 })
		if got := []gale.ConnState{<-states, <-states, <-states}; !slices.Equal(got, []gale.ConnState{gale.StateNew, gale.StateActive, gale.StateClosed}) {
			t.Errorf("the states are %v", got)
		}
		await.Until(t, "the log", func() bool { return s.GetPanicsCount() == 1 })
		if len(leave) > 0 {
			t.Error("leave was called twice")
		}
	})
}
