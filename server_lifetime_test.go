package gale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDoneAfterTimeout(t *testing.T) {
	ask, got := make(chan bool), make(chan bool)
	slow := TimeoutHandler(func(ctx *RequestCtx) {
		<-ask
		select {
		case <-ctx.Done():
			got <- true
		default:
			got <- false
		}
	}, 10*time.Millisecond, "late")
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			slow(ctx)
		}
	})
	c := ts.dial()
	c.send(get("/slow"))
	c.want("GET", 408, "late")
	for range 3 {
		c.send(get("/"))
		c.want("GET", 200, "")
	}
	ask <- true
	if !<-got {
		t.Error("Done isn't closed after the time-out")
	}
}

func TestStreamAfterPanic(t *testing.T) {
	usedAgain(t) // a guard would report the late Read
	read, res := make(chan bool), make(chan error, 1)
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		r := ctx.RequestBodyStream()
		go func() {
			<-read
			var b [10]byte
			_, err := r.Read(b[:])
			res <- err
		}()
		panic("x")
	})
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
	c.read("POST")
	read <- true
	if err := <-res; err == nil {
		t.Error("could read the body after a panic")
	}
}

func TestPanicInHooks(t *testing.T) {
	for name, s := range map[string]*Server{
		"BaseContext": {BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
		"StateNew": {ConnState: func(c net.Conn, st ConnState) {
			if st == StateNew {
				panic("on purpose")
			}
		}},
		"StateClosed": {ConnState: func(c net.Conn, st ConnState) {
			if st == StateClosed {
				panic("on purpose")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ts := startServer(t, s, echo)
			c := ts.dial()
			c.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
			io.ReadAll(c)
			waitClosed(t, s, name)
		})
	}
}

func TestTimeoutAfterFlush(t *testing.T) {
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		ctx.WriteString("part")
		ctx.Flush()
		<-ctx.Done()
	}, 100*time.Millisecond, "late"))
	c := ts.dial()
	c.send(get("/"))
	b, err := io.ReadAll(c)
	t.Logf("%q %v", b, err)
	if bytes.HasSuffix(b, []byte("0\r\n\r\n")) {
		t.Error("looks complete")
	}
}

func TestHijackWithFile(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SendFile("server_lifetime_test.go")
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "HIJACKED") })
	})
	c := ts.dial()
	c.send(get("/"))
	b, err := io.ReadAll(c)
	if len(b) < 1000 || !bytes.HasSuffix(b, []byte("HIJACKED")) {
		t.Errorf("%q %v", b, err)
	}
}

func TestClosersOfBrokenRequests(t *testing.T) {
	for _, how := range []string{"panic", "abort", "gone"} {
		t.Run(how, func(t *testing.T) {
			var n atomic.Int64
			begun := make(chan bool, 1)
			ts := startServer(t, nil, func(ctx *RequestCtx) {
				ctx.SetUserValue("a", countCloser{&n})
				ctx.SetBodyStream(countCloser{&n}, -1)
				switch how {
				case "panic":
					panic("on purpose")
				case "abort":
					panic(ErrAbortHandler)
				case "gone":
					begun <- true
					<-ctx.Done()
				}
			})
			c := ts.dial()
			c.send(get("/"))
			if how == "gone" {
				<-begun
				c.Conn.(*net.TCPConn).SetLinger(0)
				c.Close()
			} else {
				io.ReadAll(c)
			}
			await(t, "both to be closed", func() bool { return n.Load() >= 2 })
			waitClosed(t, ts.s, how)
			if n.Load() != 2 {
				t.Errorf("2 were closed %d times", n.Load())
			}
		})
	}
}

// countCloser counts how often it was closed.
type countCloser struct{ n *atomic.Int64 }

func (c countCloser) Read([]byte) (int, error) { return 0, io.EOF }
func (c countCloser) Close() error             { c.n.Add(1); return nil }

func TestDoneDuringStreamRead(t *testing.T) {
	var proceed atomic.Pointer[chan bool]
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		r := ctx.RequestBodyStream()
		asked := *proceed.Load()
		go func() {
			time.Sleep(50 * time.Millisecond) // most likely the body is waited for by now
			ctx.Done()
			close(asked)
		}()
		b, err := io.ReadAll(r)
		<-asked
		fmt.Fprintf(ctx, "%s %v", b, err)
	})
	c := ts.dial()
	asked := make(chan bool)
	proceed.Store(&asked)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\na")
	<-asked
	c.send("b")
	time.Sleep(50 * time.Millisecond) // so that the server most likely reads it alone
	c.send("cd")
	c.want("POST", 200, "abcd <nil>")
	again := make(chan bool)
	proceed.Store(&again)
	c.send(post("/", "more"))
	c.want("POST", 200, "more <nil>")
}

func TestTimeoutWhileStreamIsRead(t *testing.T) {
	res := make(chan error, 1)
	ts := startServer(t, &Server{StreamRequestBody: true}, TimeoutHandler(func(ctx *RequestCtx) {
		ctx.Done()
		_, err := io.ReadAll(ctx.RequestBodyStream())
		res <- err
	}, 100*time.Millisecond, "late"))
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\na")
	c.want("POST", 408, "late")
	t.Log(<-res)
	c.send("bcd")
	c.wantClosed()
}

func TestTimedOutPanicIsLogged(t *testing.T) {
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		<-ctx.Done()
		panic("on purpose")
	}, 50*time.Millisecond, "late"))
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 408, "late")
	await(t, "the panic to be logged", func() bool { return strings.Contains(ts.log.String(), "on purpose") })
}

func TestEarlyHintsAfterTimeout(t *testing.T) {
	res := make(chan any, 1)
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		defer func() { res <- recover() }()
		<-ctx.Done()
		ctx.Response.Header.Set("Link", "</a>")
		ctx.EarlyHints()
	}, 50*time.Millisecond, "late"))
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 408, "late")
	if r := <-res; r != nil {
		t.Error(r)
	}
}

func TestDoneInHooks(t *testing.T) {
	s := &Server{ErrorHandler: func(ctx *RequestCtx, err error) { _ = ctx.Err(); ctx.SetStatusCode(400) },
		ExpectHandler: func(ctx *RequestCtx) int { _ = ctx.Err(); return 100 }}
	ts := startServer(t, s, echo)
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	time.Sleep(50 * time.Millisecond)
	c.send("abcd")
	c.read("POST")
	c.read("POST")
	c.send("BAD\r\n\r\n")
	c.read("GET")
	c.wantClosed()
}

func TestEchoOfStreamedBody(t *testing.T) {
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
	})
	for _, v := range []string{"HTTP/1.0\r\n", "HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"} {
		c := ts.dial()
		c.send("POST / " + v + "Content-Length: 4\r\n\r\nab")
		time.Sleep(50 * time.Millisecond)
		c.send("cd")
		c.want("POST", 200, "abcd")
	}
}

func TestErrorHandlerSeesRequest(t *testing.T) {
	ts := startServer(t, &Server{MaxHeaderBytes: 2000, MaxRequestBodySize: 10, ErrorHandler: func(ctx *RequestCtx, err error) {
		fmt.Fprintf(ctx, "[%s][%s][%s][%s][%q][%s][%v]", ctx.Method(), ctx.Path(), ctx.Host(), ctx.RequestURI(), ctx.Request.Header.String(), ctx.UserAgent(), ctx.Time().IsZero())
		ctx.Request.Header.VisitAll(func(k, v []byte) { fmt.Fprintf(ctx, "{%s=%s}", k, v) })
		ctx.Request.Header.RawHeaders()
		_ = ctx.String()
		ctx.SetStatusCode(499)
	}}, echo)
	for _, bad := range []string{
		"GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/3.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: secret\r\nX\r\n\r\n", "\x16\x03\x01",
		"GET /" + strings.Repeat("a", 3000), "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 3000),
		post("/", strings.Repeat("b", 20)), "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nx\r\n",
	} {
		c := ts.dial()
		c.send(get("/before?secret=1") + bad)
		c.read("GET")
		a := c.read("GET")
		if a.StatusCode != 499 || strings.Contains(a.body, "before") {
			t.Errorf("%.50q: %d %.300s; log %s", bad, a.StatusCode, a.body, ts.log)
		}
	}
}

// TestLifetimesUnderLoad mixes timeouts, Done, streams, flushes, panics, aborts and
// clients that leave at any point. It is meant for the race detector.
func TestLifetimesUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	stream := func(ctx *RequestCtx) io.Reader {
		if r := ctx.RequestBodyStream(); r != nil {
			return r
		}
		return nothing{}
	}
	s := &Server{StreamRequestBody: true, IdleTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 3 * time.Second, Logger: &testLog{}}
	inner := func(ctx *RequestCtx) {
		switch ctx.QueryArgs().GetUintOrZero("k") {
		case 0:
			ctx.WriteString("ok")
		case 1:
			ctx.Done()
			time.Sleep(time.Duration(rand.Intn(4)) * time.Millisecond)
		case 2:
			io.Copy(io.Discard, stream(ctx))
		case 3:
			ctx.Done()
			io.Copy(io.Discard, stream(ctx))
		case 4:
			for range 3 {
				ctx.WriteString("x")
				ctx.Flush()
				time.Sleep(time.Millisecond)
			}
		case 5:
			panic("p")
		case 6:
			time.Sleep(3 * time.Millisecond)
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
			for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
				c, err := net.Dial("tcp", ts.addr)
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
				time.Sleep(time.Duration(r.Intn(5)) * time.Millisecond)
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
	waitClosed(t, s, "all clients have left")
	// Handlers that have timed out may still run.
	await(t, "late handlers to end", func() bool { return s.run.timed.Load() == 0 })
	wantNoWaiters(t, s)
	wantGoroutines(t, before+40)
}
