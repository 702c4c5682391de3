package gale

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// An UpgradeHandler gets the connection only with a response that lets the client go on
// with another protocol. With any other response the request is an ordinary one.
func TestUpgradeNeeds101(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		opened := make(chan struct{}, 1)
		h := &upgradeFuncs{
			opened:   func(c *UpgradedConn) { opened <- struct{}{} },
			received: func(c *UpgradedConn, in []byte) int { c.Close(); return len(in) },
		}
		ts := startServer(t, &Server{Engine: e, StreamRequestBody: true, Logger: &testLog{}}, func(ctx *RequestCtx) {
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
				panic(ErrAbortHandler)
			case "/late":
				ctx.BeforeSend(func(ctx *RequestCtx) { ctx.SetStatusCode(503) })
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
			{get("/"), 101, false, true},
			{get("/refuse"), 403, true, false},
			{get("/ok"), 200, true, false},
			{get("/102"), 102, false, false},
			{get("/undo"), 204, true, false},
			{get("/fail"), 401, true, false},
			{get("/panic"), 0, false, false},
			{get("/late"), 503, true, false},
			{get("/timeout"), 408, true, false},
			{get("/flush"), 200, true, false},
			{"GET / HTTP/1.0\r\nHost: h\r\n\r\n", 400, false, false},
			{"GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", 400, true, false},
			{"GET /" + proto + "Connection: close, upgrade\r\n\r\n", 400, false, false},
			{"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", 200, false, true},
			{post("/", "body"), 101, false, true},
			{"POST /" + proto + "Content-Length: 10000000\r\n\r\nxy", 101, false, false},
		} {
			t.Run(strings.Fields(test.request)[1]+fmt.Sprint(test.status), func(t *testing.T) {
				c := ts.dial()
				c.t = t
				c.send(test.request)
				if test.opens {
					c.send("x")
				}
				if test.status != 0 {
					method, _, _ := strings.Cut(test.request, " ")
					if a := c.read(method); a.StatusCode != test.status {
						t.Errorf("got %d, want %d", a.StatusCode, test.status)
					}
				}
				if test.goesOn {
					c.send(get("/refuse"))
					c.want("GET", 403, "no")
				} else if rest, err := io.ReadAll(c.br); len(rest) > 0 && test.status != 0 {
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
	onEngines(t, func(t *testing.T, e Engine) {
		sent := make(chan error, 1)
		ctxs := make(chan *RequestCtx, 1)
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			ctx.AfterSend(func(_ int64, err error) { sent <- err })
			ctx.BeforeSend(func(ctx *RequestCtx) { ctx.Response.Header.Set("X", "y") })
			ctx.SetStatusCode(101)
			ctx.Upgrade(upgradeLines())
			ctxs <- ctx.Detach()
		})
		c := ts.dial()
		c.send(get("/path"))
		if a := c.read("GET"); a.StatusCode != 101 || a.Header.Get("X") != "y" {
			t.Errorf("got %v", a.Response)
		}
		c.wantText("hello\n")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		ctx := <-ctxs
		<-ctx.Done()
		if path := string(ctx.Path()); path != "/path" {
			t.Errorf("the path is %q", path)
		}
		c.send("bye\n")
		c.wantClosed()
	})
}

// Pipelined requests before an upgrade are answered before it.
func TestUpgradeAfterPipeline(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/" {
				ctx.SetStatusCode(101)
				ctx.Upgrade(upgradeLines())
				return
			}
			ctx.SetBodyString("one")
		})
		c := ts.dial()
		c.send(get("/1") + get("/2") + get("/") + "a\nbye\n")
		c.want("GET", 200, "one")
		c.want("GET", 200, "one")
		c.want("GET", 101, "")
		c.wantText("hello\n<a>")
		c.wantClosed()
	})
}

// The server counts a connection of HijackCounted until its handler has returned, and
// Shutdown, which calls leave, waits for it.
func TestHijackCounted(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		states := make(chan ConnState, 10)
		s := &Server{Engine: e, MaxConnsPerIP: 2, KeepHijackedConns: true, Logger: &testLog{}}
		s.ConnState = func(_ net.Conn, st ConnState) { states <- st }
		leave, end := make(chan struct{}, 2), make(chan struct{})
		ts := startServer(t, s, func(ctx *RequestCtx) {
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
		c := ts.dial()
		c.send(get("/"))
		c.want("GET", 101, "")
		c.wantText("taken")
		if st := s.Stats(); st.UpgradedConnections != 1 || st.OpenConnections != 1 {
			t.Errorf("Stats: %+v", st)
		}
		done := make(chan error, 1)
		go func() { done <- s.Shutdown() }()
		<-leave
		if len(done) > 0 {
			t.Error("Shutdown has returned")
		}
		close(end)
		c.wantText("bye")
		c.wantClosed()
		if err := <-done; err != nil {
			t.Error(err)
		}
		await(t, "the end", func() bool { return s.Stats().UpgradedConnections == 0 && len(states) == 3 })
		if got := []ConnState{<-states, <-states, <-states}; !slices.Equal(got, []ConnState{StateNew, StateActive, StateClosed}) {
			t.Errorf("the states are %v", got)
		}
		await(t, "the log", func() bool { return s.GetPanicsCount() == 1 })
		if len(leave) > 0 {
			t.Error("leave was called twice")
		}
	})
}

// Close closes the connections of HijackCounted, and what ends them in another way gives
// their places in the limits back.
func TestHijackCountedEnds(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, MaxConnsPerIP: 1, DrainTime: time.Hour, Logger: &testLog{}}
		left := make(chan struct{}, 1)
		ts := startServer(t, s, func(ctx *RequestCtx) {
			panics := string(ctx.Path()) == "/panic"
			ctx.SetStatusCode(101)
			ctx.HijackCounted(func(nc net.Conn) {
				if panics {
					panic("on purpose")
				}
				_, _ = io.Copy(nc, nc)
			}, func() { left <- struct{}{} })
		})
		free := func() {
			await(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 && s.Stats().UpgradedConnections == 0 })
		}
		for range 3 {
			c := ts.dial()
			c.send(get("/panic"))
			c.want("GET", 101, "")
			c.wantClosed()
			free()
			c = ts.dial()
			c.send(get("/") + "x")
			c.want("GET", 101, "")
			c.wantText("x")
			c.Close()
			free()
		}
		c := ts.dial()
		c.send(get("/") + "x")
		c.want("GET", 101, "")
		c.wantText("x")
		go s.Shutdown()
		<-left // when the drain begins
		s.Close()
		c.wantClosed()
		free()
		if n := s.perIP.n; len(n) > 0 {
			t.Errorf("still counted: %v", n)
		}
	})
}
