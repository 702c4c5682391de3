package gale

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
)

// A handler that ends its goroutine frees its place for the connections that wait because
// of MaxRunningHandlers.
func TestGoexitMakesRoom(t *testing.T) {
	inside, leave := make(chan bool, 1), make(chan bool)
	ts := startServer(t, &Server{Engine: EngineEvent, MaxRunningHandlers: 1}, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/goexit" {
			inside <- true
			<-leave
			runtime.Goexit()
		}
		ctx.SetBodyString("fine")
	})
	first, second := ts.dial(), ts.dial()
	second.send(get("/"))
	second.want("GET", 200, "fine")
	first.send(get("/goexit"))
	<-inside
	second.send(get("/"))
	time.Sleep(50 * time.Millisecond) // the server has seen the request, which waits
	leave <- true
	second.SetDeadline(time.Now().Add(time.Minute))
	second.want("GET", 200, "fine")
}

// Serve returns when the server is closed, even if many handlers still run.
func TestServeReturnsWhileHandlersRun(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		inside, leave := make(chan bool, 1), make(chan bool)
		defer close(leave)
		s := &Server{Engine: e, MaxRunningHandlers: 1, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
			inside <- true
			<-leave
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		ts := &testServer{t: t, s: s, addr: ln.Addr().String()}
		ts.dial().send(get("/"))
		<-inside
		ts.dial() // a connection that can't be served
		time.Sleep(50 * time.Millisecond)
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
	onEngines(t, func(t *testing.T, e Engine) {
		for name, s := range map[string]*Server{
			"ConnState":   {ConnState: func(net.Conn, ConnState) { panic("on purpose") }},
			"BaseContext": {BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
			"Opening": {ConnState: func(_ net.Conn, st ConnState) {
				if st != StateNew {
					panic("on purpose")
				}
			}, BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
		} {
			s.Engine, s.Handler = e, echo
			plain := startServer(t, s, nil)
			c := plain.dial()
			c.Write([]byte(get("/")))
			io.ReadAll(c)
			over := &Server{Engine: e, Handler: echo, ConnState: s.ConnState, BaseContext: s.BaseContext}
			if raw, err := net.Dial("tcp", startTLS(t, over)); err == nil {
				tc := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
				tc.SetDeadline(time.Now().Add(time.Minute))
				io.WriteString(tc, get("/"))
				io.ReadAll(tc)
				raw.Close()
			}
			for _, s := range []*Server{s, over} {
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
	onEngines(t, func(t *testing.T, e Engine) {
		taken := make(chan net.Conn, 1)
		addr := startTLS(t, &Server{Engine: e, Handler: func(ctx *RequestCtx) {
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Error(err)
			}
			taken <- nc
			runtime.Goexit()
		}})
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, get("/"))
		nc := <-taken
		defer nc.Close()
		time.Sleep(50 * time.Millisecond)
		io.WriteString(nc, "hello")
		var b [5]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Error(err)
		}
	})
}

// The longest possible timeouts mean no timeout.
func TestLongestTimeouts(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		const long = time.Duration(math.MaxInt64)
		body := strings.Repeat("0123456789abcdef", 1<<19)
		ts := startServer(t, &Server{Engine: e, ReadTimeout: long, WriteTimeout: long, IdleTimeout: long}, func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/small" {
				ctx.SetBody(ctx.PostBody())
				return
			}
			ctx.SetBodyString(body)
		})
		c := ts.dial()
		c.send(get("/"))
		time.Sleep(100 * time.Millisecond)
		c.want("GET", 200, body)
		p := post("/small", "body")
		c.send(p[:len(p)-2])
		time.Sleep(100 * time.Millisecond)
		c.send(p[len(p)-2:])
		c.want("POST", 200, "body")
	})
}

// Connections hijacked from TLS read, write and have deadlines. The bytes after the
// request are read first.
func TestHijackOverTLS(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
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
		addr := startTLS(t, &Server{Engine: e, Handler: func(ctx *RequestCtx) {
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
			io.WriteString(c, get(path)+"first")
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
	onEngines(t, func(t *testing.T, e Engine) {
		inside, leave := make(chan bool, 1), make(chan bool)
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				inside <- true
				<-leave
			}
			ctx.SetBodyString("fine")
		})
		c := ts.dial()
		c.SetDeadline(time.Now().Add(time.Minute))
		c.send(get("/wait"))
		<-inside
		c.send("GET / HTTP/1.1\r\nHost: h\r\n")
		sendUrgent(t, c.Conn)
		c.send("\r\n")
		leave <- true
		c.want("GET", 200, "fine")
		c.want("GET", 200, "fine")
	})
}

// A function of TLSConfig that panics ends the connection, and nothing of the connection
// stays.
func TestPanicInHandshake(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, Handler: echo, TLSConfig: &tls.Config{
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { panic("on purpose") },
		}}
		addr := startTLS(t, s)
		for range 3 {
			if _, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
				t.Error("there was a handshake")
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Errorf("%v, %d open", err, s.GetOpenConnectionsCount())
		}
		s.run.mu.Lock()
		defer s.run.mu.Unlock()
		if n := len(s.run.handshakes); n != 0 {
			t.Errorf("%d handshakes are kept", n)
		}
	})
}
