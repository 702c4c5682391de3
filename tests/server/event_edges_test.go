package server

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A handler that ends its goroutine frees its place for the connections that wait because
// of MaxRunningHandlers.
func TestGoexitMakesRoom(t *testing.T) {
	inside, leave := make(chan bool, 1), make(chan bool)
	ts := harness.Start(t, &gale.Server{Engine: gale.EngineEvent, MaxRunningHandlers: 1}, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/goexit" {
			inside <- true
			<-leave
			runtime.Goexit()
		}
		ctx.SetBodyString("fine")
	})
	first, second := ts.Dial(), ts.Dial()
	second.Send(peers.Get("/"))
	second.Want("GET", 200, "fine")
	first.Send(peers.Get("/goexit"))
	<-inside
	polls := ts.S.Stats().Event.Polls
	second.Send(peers.Get("/"))
	await.Until(t, "the server to see the request, which waits", func() bool {
		st := ts.S.Stats().Event
		return st.Polls > polls || st.Loops == 0 // no loops: EngineBlock serves on this system
	})
	leave <- true
	second.SetDeadline(time.Now().Add(time.Minute))
	second.Want("GET", 200, "fine")
}

// Serve returns when the server is closed, even if many handlers still run.
func TestServeReturnsWhileHandlersRun(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		inside, leave := make(chan bool, 1), make(chan bool)
		defer close(leave)
		s := &gale.Server{Engine: e, MaxRunningHandlers: 1, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			inside <- true
			<-leave
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		ts := &peers.Server{T: t, Addr: ln.Addr().String()}
		ts.Dial().Send(peers.Get("/"))
		<-inside
		polls := s.Stats().Event.Polls
		ts.Dial() // a connection that can't be served
		await.Until(t, "the server to see the connection", func() bool {
			st := s.Stats()
			return st.AcceptedConnections == 2 || st.Event.Polls > polls
		})
		s.Close()
		select {
		case err := <-served:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("Serve did not return")
		}
	})
}

// Hooks that always panic end their connections and nothing else: the counts of
// connections are correct afterwards.
func TestHooksThatAlwaysPanic(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for name, s := range map[string]*gale.Server{
			"ConnState":   {ConnState: func(net.Conn, gale.ConnState) { panic("on purpose") }},
			"BaseContext": {BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
			"Opening": {ConnState: func(_ net.Conn, st gale.ConnState) {
				if st != gale.StateNew {
					panic("on purpose")
				}
			}, BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
		} {
			s.Engine, s.Handler = e, harness.Echo
			plain := harness.Start(t, s, nil)
			c := plain.Dial()
			c.Write([]byte(peers.Get("/")))
			io.ReadAll(c)
			over := &gale.Server{Engine: e, Handler: harness.Echo, ConnState: s.ConnState, BaseContext: s.BaseContext}
			if raw, err := net.Dial("tcp", harness.StartTLS(t, over)); err == nil {
				tc := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
				tc.SetDeadline(time.Now().Add(time.Minute))
				io.WriteString(tc, peers.Get("/"))
				io.ReadAll(tc)
				raw.Close()
			}
			for _, s := range []*gale.Server{s, over} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if err := s.ShutdownWithContext(ctx); err != nil {
					t.Errorf("%s: %v, %d open", name, err, s.GetOpenConnectionsCount())
				}
				cancel()
			}
		}
	})
}

// The connection of HijackNow belongs to the handler, even if the handler ends its
// goroutine.
func TestHijackNowThenGoexit(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		taken := make(chan net.Conn, 1)
		s := &gale.Server{Engine: e, Handler: func(ctx *gale.RequestCtx) {
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Error(err)
			}
			taken <- nc
			runtime.Goexit()
		}}
		addr := harness.StartTLS(t, s)
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, peers.Get("/"))
		nc := <-taken
		defer nc.Close()
		peers.WaitClosed(t, s, "the server has done what it does after such a handler")
		io.WriteString(nc, "hello")
		var b [5]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Error(err)
		}
	})
}

// The longest possible timeouts mean no timeout.
func TestLongestTimeouts(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		const long = time.Duration(math.MaxInt64)
		body := strings.Repeat("0123456789abcdef", 1<<19)
		ts := harness.Start(t, &gale.Server{Engine: e, ReadTimeout: long, WriteTimeout: long, IdleTimeout: long}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/small" {
				ctx.SetBody(ctx.PostBody())
				return
			}
			ctx.SetBodyString(body)
		})
		c := ts.Dial()
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		c.Send(peers.Get("/"))
		awaitBlocked(t, ts.S, c)
		c.Want("GET", 200, body)
		p := peers.Post("/small", "body")
		c.Send(p[:len(p)-2])
		await.Until(t, "the head to be read", func() bool { return ts.S.Stats().Requests == 2 })
		c.Send(p[len(p)-2:])
		c.Want("POST", 200, "body")
	})
}

// Connections hijacked from TLS read, write and have deadlines. The bytes after the
// request are read first.
func TestHijackOverTLS(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		errs := make(chan error, 1)
		answer := func(nc net.Conn) {
			defer nc.Close()
			nc.SetDeadline(time.Now().Add(time.Minute))
			var b [10]byte
			_, err := io.ReadFull(nc, b[:])
			if err == nil {
				_, err = nc.Write(b[:])
			}
			errs <- err
		}
		addr := harness.StartTLS(t, &gale.Server{Engine: e, Handler: func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/now" {
				nc, err := ctx.HijackNow()
				if err != nil {
					t.Error(err)
				}
				go answer(nc)
				return
			}
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(answer)
		}})
		for _, path := range []string{"/now", "/later"} {
			c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(time.Minute))
			io.WriteString(c, peers.Get(path)+"first")
			io.WriteString(c, " last")
			b, err := io.ReadAll(c)
			if string(b) != "first last" || err != nil {
				t.Errorf("%s: got %q, %v", path, b, err)
			}
			if err := <-errs; err != nil {
				t.Error(path, err)
			}
			c.Close()
		}
	})
}

// A byte out of band, at which a read ends, doesn't delay the bytes after it.
func TestUrgentByte(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		inside, leave := make(chan bool, 1), make(chan bool)
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				inside <- true
				<-leave
			}
			ctx.SetBodyString("fine")
		})
		c := ts.Dial()
		c.SetDeadline(time.Now().Add(time.Minute))
		c.Send(peers.Get("/wait"))
		<-inside
		c.Send("GET / HTTP/1.1\r\nHost: h\r\n")
		sendUrgent(t, c.Conn)
		c.Send("\r\n")
		leave <- true
		c.Want("GET", 200, "fine")
		c.Want("GET", 200, "fine")
	})
}
