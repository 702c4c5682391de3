package gale

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The memory of a body that is collected grows with what has arrived, however much the
// client declares.
func TestCollectedBodyGrowsWithArrival(t *testing.T) {
	const conns, declared = 16, 1 << 30
	heads := map[string]string{
		"known length": fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", declared),
		"one chunk":    fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", declared),
	}
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, MaxRequestBodySize: declared}, echo)
		ts.Dial().WantOpen() // what the first connection allocates is no part of this
		for name, head := range heads {
			for _, sent := range []int{0, 10, 3000, 20_000, 400_000} {
				var all []*peers.Conn
				for range conns {
					all = append(all, ts.Dial())
				}
				request := []byte(head + strings.Repeat("x", sent))
				runtime.GC() // twice, so that the pools are empty
				runtime.GC()
				got := peers.Allocated(func() {
					for _, c := range all {
						if _, err := c.Write(request); err != nil {
							t.Fatal(err)
						}
						_ = c.Conn.(*net.TCPConn).CloseWrite()
					}
					for _, c := range all { // the server answers when it has done all that it does
						c.Answer("POST")
					}
				})
				// The last buffer, those before it, and what an answer costs on both sides.
				if most := conns * (2*pool.Ahead*sent + 32<<10); got > most {
					t.Errorf("%s: %d connections that sent %d bytes took %d bytes, want at most %d", name, conns, sent, got, most)
				}
			}
		}
	})
}

func TestExpectContinue(t *testing.T) {
	const head = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
	wantContinue := func(c *peers.Conn) {
		t.Helper()
		line := make([]byte, len(continueLine))
		if io.ReadFull(c.Br, line); string(line) != continueLine {
			t.Fatalf("got %q, want a 100", line)
		}
	}
	t.Run("accepted", func(t *testing.T) {
		c := startServer(t, nil, echo).Dial()
		c.Send(head)
		wantContinue(c)
		c.Send("abc")
		c.Want("POST", 200, "POST /x abc")
		c.WantOpen()
	})
	t.Run("refused", func(t *testing.T) {
		c := startServer(t, &Server{ContinueHandler: func(*RequestHeader) bool { return false }}, echo).Dial()
		c.Send(head)
		if a := c.Answer("POST"); a.StatusCode != 417 {
			t.Errorf("got %d", a.StatusCode)
		}
		c.WantClosed()
	})
	t.Run("by ExpectHandler", func(t *testing.T) {
		c := startServer(t, &Server{ExpectHandler: func(*RequestCtx) int { return 403 }}, echo).Dial()
		c.Send(head)
		if a := c.Answer("POST"); a.StatusCode != 403 || a.Text != "" {
			t.Errorf("got %d with %q, want the status alone", a.StatusCode, a.Text)
		}
		c.WantClosed()
	})
	t.Run("streamed", func(t *testing.T) {
		c := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
			if string(ctx.Path()) != "/unread" {
				echo(ctx)
			}
		}).Dial()
		c.Send(head)
		wantContinue(c) // comes when the handler reads
		c.Send("abc")
		c.Want("POST", 200, "POST /x abc")
		c.Send(strings.Replace(head, "/x", "/unread", 1))
		if a := c.Answer("POST"); a.StatusCode != 200 || !a.Close {
			t.Errorf("got %d, close %t; want 200 at once and close", a.StatusCode, a.Close)
		}
	})
}

// A function of TLSConfig that panics ends the connection, and nothing of the connection
// stays.
func TestPanicInHandshake(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
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

// CloseRequestBody ends a Read that waits for the client. The answer is sent, and then
// the connection is closed.
func TestCloseRequestBody(t *testing.T) {
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		got := make(chan error)
		body := ctx.RequestBodyStream()
		go func() {
			_, err := io.ReadAll(body)
			got <- err
		}()
		for !ctx.x.(*h1Session).m.stream.waits.Load() {
			time.Sleep(time.Millisecond) // between two looks
		}
		ctx.CloseRequestBody()
		if err := <-got; err == nil {
			t.Error("the body was read to its end")
		}
		if _, err := body.Read(make([]byte, 1)); !errors.Is(err, errStreamClosed) {
			t.Error(err)
		}
		ctx.SetBodyString("answer")
	})
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
	if a := c.Want("POST", 200, "answer"); !a.Close {
		t.Error("the connection is used on")
	}
}

// TestLifetimesUnderLoad mixes timeouts, Done, streams, flushes, panics, aborts and
// clients that leave at any point. It is meant for the race detector.
func TestLifetimesUnderLoad(t *testing.T) {
	long := gate.Form(1500*time.Millisecond, 300*time.Millisecond)
	stream := func(ctx *RequestCtx) io.Reader {
		if r := ctx.RequestBodyStream(); r != nil {
			return r
		}
		return nothing{}
	}
	s := &Server{StreamRequestBody: true, IdleTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second, Logger: &peers.Log{}}
	inner := func(ctx *RequestCtx) {
		switch ctx.QueryArgs().GetUintOrZero("k") {
		case 0:
			ctx.WriteString("ok")
		case 1:
			ctx.Done()
			time.Sleep(time.Duration(gate.Rand.IntN(4)) * time.Millisecond) // a slow handler: its client may leave meanwhile
		case 2:
			io.Copy(io.Discard, stream(ctx))
		case 3:
			ctx.Done()
			io.Copy(io.Discard, stream(ctx))
		case 4:
			for range 3 {
				ctx.WriteString("x")
				ctx.Flush()
				time.Sleep(time.Millisecond) // a slow handler
			}
		case 5:
			panic("p")
		case 6:
			time.Sleep(3 * time.Millisecond) // a slow handler
			ctx.Done()
			ctx.EarlyHints()
			ctx.Flush()
			io.Copy(io.Discard, stream(ctx))
			ctx.SetWriteDeadline(time.Now().Add(time.Second))
		case 7:
			ctx.SetBodyStream(stream(ctx), -1)
		case 8:
			panic(ErrAbortHandler)
		case 9:
			runtime.Goexit()
		}
	}
	timed := TimeoutHandler(inner, 2*time.Millisecond, "late")
	s.Handler = func(ctx *RequestCtx) {
		if ctx.QueryArgs().GetUintOrZero("t") == 1 {
			timed(ctx)
		} else {
			inner(ctx)
		}
	}
	ts := startServer(t, s, nil)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewSource(int64(g)))
			for end := time.Now().Add(long); time.Now().Before(end); {
				c, err := net.Dial("tcp", ts.Addr)
				if err != nil {
					t.Error(err)
					return
				}
				c.SetDeadline(time.Now().Add(5 * time.Second))
				var b []byte
				for range 1 + r.Intn(3) {
					k, tt := r.Intn(10), r.Intn(2)
					body := r.Intn(3) * 10
					if body > 0 {
						b = fmt.Appendf(b, "POST /?k=%d&t=%d HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%0*d", k, tt, body, body, 0)
					} else {
						b = fmt.Appendf(b, "GET /?k=%d&t=%d HTTP/1.1\r\nHost: h\r\n\r\n", k, tt)
					}
				}
				cut := r.Intn(len(b) + 1)
				c.Write(b[:cut])
				time.Sleep(time.Duration(r.Intn(5)) * time.Millisecond) // so that the part most likely arrives alone
				if r.Intn(3) > 0 {
					c.Write(b[cut:])
				}
				switch r.Intn(3) {
				case 0:
					c.(*net.TCPConn).SetLinger(0)
				case 1:
					c.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, c)
				case 2:
					c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
					io.Copy(io.Discard, c)
				}
				c.Close()
			}
		}()
	}
	wg.Wait()
	peers.WaitClosed(t, s, "all clients have left")
	// Handlers that have timed out may still run.
	await.Until(t, "late handlers to end", func() bool { return door.InsideOf(s).Timed == 0 })
	peers.WantNoWaiters(t, s)
	peers.WantGoroutines(t, before+40)
}

func TestConcurrencyLimit(t *testing.T) {
	s := &Server{Concurrency: 2}
	held, release := make(chan struct{}), make(chan struct{})
	ts := startServer(t, s, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/hold" {
			held <- struct{}{}
			<-release
		}
	})
	a, b := ts.Dial(), ts.Dial()
	a.Send(peers.Get("/hold"))
	<-held // a connection whose request hasn't arrived is idle too
	b.WantOpen()
	await.Until(t, "one connection to be idle", func() bool { return s.idleConns() == 1 })
	c := ts.Dial() // b is idle, so it is evicted
	c.Send(peers.Get("/hold"))
	<-held
	b.WantClosed()
	d := ts.Dial()
	if ans := d.Answer("GET"); ans.StatusCode != 503 || !ans.Close {
		t.Errorf("got %d, want 503 and close", ans.StatusCode)
	}
	d.WantClosed()
	close(release)
	a.Want("GET", 200, "")
	c.Want("GET", 200, "")
	if n := s.GetRejectedConnectionsCount(); n != 1 {
		t.Errorf("%d rejected, want 1", n)
	}
}

// hasIPv6 reports whether the system has the loopback address of IPv6.
func hasIPv6() bool {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// TestListenNetworks proves that the server listens with IPv4 and IPv6 on an address
// without a host, and with only one of them on an address that has its family. Without
// defaultDualStack, as for programs that use the module under fasthttp's name, it listens
// with IPv4 only.
func TestListenNetworks(t *testing.T) {
	if !hasIPv6() {
		t.Skip("no IPv6")
	}
	defer func(saved bool) { defaultDualStack = saved }(defaultDualStack)
	for _, c := range []struct {
		addr       string
		dual       bool
		four, six  bool
		wantsError bool
	}{
		{addr: ":0", dual: true, four: true, six: true},
		{addr: "[::]:0", dual: true, four: true, six: true},
		{addr: "0.0.0.0:0", dual: true, four: true},
		{addr: "127.0.0.1:0", dual: true, four: true},
		{addr: "[::1]:0", dual: true, six: true},
		{addr: "localhost:0", dual: true, four: true},
		{addr: ":0", four: true},
		{addr: "0.0.0.0:0", four: true},
		{addr: "[::1]:0", wantsError: true},
	} {
		defaultDualStack = c.dual
		for _, cfg := range []ListenConfig{{}, {Backlog: 10}} {
			s := &Server{ListenConfig: cfg}
			ln, err := s.listenTCP(c.addr)
			if err != nil {
				if !c.wantsError {
					t.Errorf("%s, dual %v: %v", c.addr, c.dual, err)
				}
				continue
			}
			if c.wantsError {
				t.Errorf("%s, dual %v: listens on %s", c.addr, c.dual, ln.Addr())
			}
			if got := reaches(t, ln, c.four); got["127.0.0.1"] != c.four || got["::1"] != c.six {
				t.Errorf("%s, dual %v, %+v: %v answer, want IPv4 %v, IPv6 %v", c.addr, c.dual, cfg, got, c.four, c.six)
			}
			ln.Close()
		}
	}
}

// reaches returns the addresses of this machine through which ln is reached. Another program may
// listen on its port of the other one, so what ln accepts decides. four says that ln must be
// reached by IPv4; else it must be by IPv6.
func reaches(t *testing.T, ln net.Listener, four bool) map[string]bool {
	t.Helper()
	hosts := []string{"127.0.0.1", "::1"}
	if four {
		slices.Reverse(hosts)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	clients := make(map[string]string) // host of each client's address
	got, last := make(map[string]bool), ""
	for _, host := range hosts {
		conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if last = ""; err == nil {
			defer conn.Close()
			last = conn.LocalAddr().String()
			clients[last] = host
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialling %s: %v", host, err)
		}
	}
	for last != "" { // connections are accepted in their order
		nc, err := ln.Accept()
		if err != nil {
			t.Fatalf("accepting: %v", err)
		}
		nc.Close()
		client := nc.RemoteAddr().String()
		if got[clients[client]] = true; client == last {
			break
		}
	}
	return got
}

// serving waits until s serves n listeners and returns their addresses.
func serving(t *testing.T, s *Server, n int) (addrs []string) {
	t.Helper()
	await.Until(t, "the server to listen", func() bool { return len(s.Stats().Listeners) >= n })
	for _, l := range s.Stats().Listeners {
		addrs = append(addrs, l.Address)
	}
	return addrs
}

// Errors in functions of BeforeSend and in Fail become records like those of panics, and
// a slog handler that panics harms no request.
func TestSlogHooksAndFail(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for what, run := range map[string]func(ctx *RequestCtx){
			"fail": func(ctx *RequestCtx) { ctx.Fail(502, errors.New("on purpose")) },
			"hook": func(ctx *RequestCtx) {
				ctx.BeforeSend(func(*RequestCtx) { panic("on purpose") })
				ctx.beforeSend()
			},
		} {
			var lines peers.Log
			ctx := RequestCtx{s: &Server{SecureErrorLogMessage: secure, Slog: slog.New(slog.NewJSONHandler(peers.Printed{Log: &lines}, nil))}}
			ctx.Request.SetRequestURI("/a%2fb?secret=1")
			run(&ctx)
			r := map[string]any{}
			if err := json.Unmarshal([]byte(lines.String()), &r); err != nil {
				t.Fatalf("%s: %q: %v", what, lines.String(), err)
			}
			if r["error"] != "on purpose" || r["level"] != "ERROR" || strings.Contains(lines.String(), "secret") {
				t.Errorf("%s: %v", what, r)
			}
			for k, want := range map[string]any{"method": "GET", "path": "/a%2fb", "remote": "0.0.0.0:0"} {
				if got := r[k]; secure && got != nil || !secure && got != want {
					t.Errorf("%s, secure %v: %s is %v, want %v", what, secure, k, got, want)
				}
			}
			ctx = RequestCtx{s: &Server{Slog: slog.New(panickingSlog{slog.DiscardHandler})}}
			run(&ctx)
			if status := ctx.Response.StatusCode(); status/100 != 5 || len(ctx.Response.Body()) == 0 {
				t.Errorf("%s: %d %q", what, status, ctx.Response.Body())
			}
		}
	}
}

// panickingSlog is a slog handler that panics.
type panickingSlog struct{ slog.Handler }

func (panickingSlog) Enabled(context.Context, slog.Level) bool { return true }

func (panickingSlog) Handle(context.Context, slog.Record) error { panic("in slog on purpose") }

// No byte after the body gets into the caller's buffer, and the next request is served.
// This holds for all sizes of buffers and chunks around those of the workspace.
func TestStreamReadStopsAtBody(t *testing.T) {
	var got bytes.Buffer
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		if ctx.IsGet() {
			ctx.SetBodyString("next")
			return
		}
		size := ctx.QueryArgs().GetUintOrZero("size")
		got.Reset()
		for {
			p := bytes.Repeat([]byte{0xee}, size)
			n, err := ctx.RequestBodyStream().Read(p)
			got.Write(p[:n])
			if bytes.Count(p[n:], []byte{0xee}) != len(p)-n {
				t.Errorf("a Read of %d bytes returned %d and changed bytes after them", size, n)
			}
			if err != nil {
				fmt.Fprint(ctx, err)
				return
			}
		}
	}}
	c := startServer(t, s, nil).Dial()
	for _, length := range []int{1, minDirect - 1, minDirect, minDirect + 1, 70_000, 300_000} {
		body := peers.BodyText(length)
		for _, size := range []int{1000, minDirect, 64 << 10, 1 << 20} {
			path := fmt.Sprint("/?size=", size)
			messages := []string{peers.Post(path, body)}
			for _, chunk := range []int{minDirect, minDirect + 1, 100_000} {
				messages = append(messages, "POST "+path+" HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+peers.Chunks(body, chunk))
			}
			for i, m := range messages {
				go io.WriteString(c, m+peers.Get("/"))
				c.Want("POST", 200, "EOF")
				c.Want("GET", 200, "next")
				if got.String() != body {
					t.Fatalf("length %d, size %d, message %d: the body is wrong: %d bytes", length, size, i, got.Len())
				}
			}
		}
	}
}

// After a burst of connections that are all parked, only a few goroutines wait for more
// connections. Goroutines whose connections have ended all wait.
func TestWorkersAfterBurst(t *testing.T) {
	s := &Server{MaxIdleWorkerDuration: time.Hour}
	var ws workers
	rest := func(parked bool) bool {
		return ws.rest(s, &worker{jobs: make(chan job, 1)}, parked)
	}
	for i := range enoughIdle {
		if !rest(true) {
			t.Fatalf("worker %d of a connection that was parked did not wait", i)
		}
	}
	if rest(true) {
		t.Errorf("worker %d of a connection that was parked waits", enoughIdle)
	}
	if !rest(false) {
		t.Error("the worker of a connection that has ended did not wait")
	}
	ws.open(false)
	if n := len(ws.idle); n != 0 {
		t.Errorf("%d workers wait when no connection will come", n)
	}
	if rest(true) || rest(false) {
		t.Error("a worker waits when no connection will come")
	}
}
