//lint:file-ignore SA1019 deprecated names have to work, too

package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestDoneAfterTimeout(t *testing.T) {
	ask, got := make(chan bool), make(chan bool)
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ask
		select {
		case <-ctx.Done():
			got <- true
		default:
			got <- false
		}
	}, 10*time.Millisecond, "late")
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			slow(ctx)
		}
	})
	c := ts.Dial()
	c.Send(peers.Get("/slow"))
	c.Want("GET", 408, "late")
	for range 3 {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "")
	}
	ask <- true
	if !<-got {
		t.Error("Done isn't closed after the time-out")
	}
}

func TestStreamAfterPanic(t *testing.T) {
	peers.UsedAgain(t) // a guard would report the late Read
	read, res := make(chan bool), make(chan error, 1)
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
		r := ctx.RequestBodyStream()
		go func() {
			<-read
			var b [10]byte
			_, err := r.Read(b[:])
			res <- err
		}()
		panic("x")
	})
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
	c.Answer("POST")
	read <- true
	if err := <-res; err == nil {
		t.Error("could read the body after a panic")
	}
}

func TestPanicInHooks(t *testing.T) {
	for name, s := range map[string]*gale.Server{
		"BaseContext": {BaseContext: func(net.Listener) context.Context { panic("on purpose") }},
		"StateNew": {ConnState: func(c net.Conn, st gale.ConnState) {
			if st == gale.StateNew {
				panic("on purpose")
			}
		}},
		"StateClosed": {ConnState: func(c net.Conn, st gale.ConnState) {
			if st == gale.StateClosed {
				panic("on purpose")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ts := harness.Start(t, s, harness.Echo)
			c := ts.Dial()
			c.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
			io.ReadAll(c)
			peers.WaitClosed(t, s, name)
		})
	}
}

func TestTimeoutAfterFlush(t *testing.T) {
	peers.WithMoreTime(t, 100*time.Millisecond, func(limit time.Duration) error {
		ts := harness.Start(t, nil, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			ctx.WriteString("part")
			ctx.Flush()
			<-ctx.Done()
		}, limit, "late"))
		c := ts.Dial()
		c.Send(peers.Get("/"))
		b, err := io.ReadAll(c)
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("got %q, %v, want the part that was flushed", b, err)
		}
		if bytes.HasSuffix(b, []byte("0\r\n\r\n")) {
			t.Errorf("%q, %v looks complete", b, err)
		}
		return nil
	})
}

func TestHijackWithFile(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		ctx.SendFile("lifetime_test.go")
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "HIJACKED") })
	})
	c := ts.Dial()
	c.Send(peers.Get("/"))
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
			ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
				ctx.SetUserValue("a", countCloser{&n})
				ctx.SetBodyStream(countCloser{&n}, -1)
				switch how {
				case "panic":
					panic("on purpose")
				case "abort":
					panic(gale.ErrAbortHandler)
				case "gone":
					begun <- true
					<-ctx.Done()
				}
			})
			c := ts.Dial()
			c.Send(peers.Get("/"))
			if how == "gone" {
				<-begun
				c.Conn.(*net.TCPConn).SetLinger(0)
				c.Close()
			} else {
				io.ReadAll(c)
			}
			await.Until(t, "both to be closed", func() bool { return n.Load() >= 2 })
			peers.WaitClosed(t, ts.S, how)
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

// countBytes is a writer that counts.
type countBytes struct{ n *atomic.Int64 }

func (w countBytes) Write(p []byte) (int, error) { w.n.Add(int64(len(p))); return len(p), nil }

func TestDoneDuringStreamRead(t *testing.T) {
	var read atomic.Int64
	var proceed atomic.Pointer[chan bool]
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
		r := ctx.RequestBodyStream()
		asked := *proceed.Load()
		go func() {
			time.Sleep(50 * time.Millisecond) // most likely the body is waited for by now; nothing shows it
			ctx.Done()
			close(asked)
		}()
		b, err := io.ReadAll(io.TeeReader(r, countBytes{&read}))
		<-asked
		fmt.Fprintf(ctx, "%s %v", b, err)
	})
	c := ts.Dial()
	asked := make(chan bool)
	proceed.Store(&asked)
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\na")
	<-asked
	c.Send("b")
	await.Until(t, "the second byte to be read", func() bool { return read.Load() == 2 })
	c.Send("cd")
	c.Want("POST", 200, "abcd <nil>")
	again := make(chan bool)
	proceed.Store(&again)
	c.Send(peers.Post("/", "more"))
	c.Want("POST", 200, "more <nil>")
}

func TestTimeoutWhileStreamIsRead(t *testing.T) {
	res := make(chan error, 1)
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		ctx.Done()
		_, err := io.ReadAll(ctx.RequestBodyStream())
		res <- err
	}, 100*time.Millisecond, "late"))
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\na")
	c.Want("POST", 408, "late")
	t.Log(<-res)
	c.Send("bcd")
	c.WantClosed()
}

func TestTimedOutPanicIsLogged(t *testing.T) {
	ts := harness.Start(t, nil, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Done()
		panic("on purpose")
	}, 50*time.Millisecond, "late"))
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 408, "late")
	await.Until(t, "the panic to be logged", func() bool { return strings.Contains(ts.Log.String(), "on purpose") })
}

func TestEarlyHintsAfterTimeout(t *testing.T) {
	res := make(chan any, 1)
	ts := harness.Start(t, nil, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		defer func() { res <- recover() }()
		<-ctx.Done()
		ctx.Response.Header.Set("Link", "</a>")
		ctx.EarlyHints()
	}, 50*time.Millisecond, "late"))
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 408, "late")
	if r := <-res; r != nil {
		t.Error(r)
	}
}

func TestDoneInHooks(t *testing.T) {
	s := &gale.Server{ErrorHandler: func(ctx *gale.RequestCtx, err error) { _ = ctx.Err(); ctx.SetStatusCode(400) },
		ExpectHandler: func(ctx *gale.RequestCtx) int { _ = ctx.Err(); return 100 }}
	ts := harness.Start(t, s, harness.Echo)
	c := ts.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	c.Want("POST", 100, "") // so that the server waits for the body
	c.Send("abcd")
	c.Want("POST", 200, "POST / abcd")
	c.Send("BAD\r\n\r\n")
	c.Answer("GET")
	c.WantClosed()
}

func TestEchoOfStreamedBody(t *testing.T) {
	begun := make(chan bool, 1)
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
		begun <- true
		ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
	})
	for _, v := range []string{"HTTP/1.0\r\n", "HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"} {
		c := ts.Dial()
		c.Send("POST / " + v + "Content-Length: 4\r\n\r\nab")
		<-begun // the rest arrives while the handler or the response reads the body
		c.Send("cd")
		c.Want("POST", 200, "abcd")
	}
}

func TestErrorHandlerSeesRequest(t *testing.T) {
	ts := harness.Start(t, &gale.Server{MaxHeaderBytes: 2000, MaxRequestBodySize: 10, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
		fmt.Fprintf(ctx, "[%s][%s][%s][%s][%q][%s][%v]", ctx.Method(), ctx.Path(), ctx.Host(), ctx.RequestURI(), ctx.Request.Header.String(), ctx.UserAgent(), ctx.Time().IsZero())
		ctx.Request.Header.VisitAll(func(k, v []byte) { fmt.Fprintf(ctx, "{%s=%s}", k, v) })
		ctx.Request.Header.RawHeaders()
		_ = ctx.String()
		ctx.SetStatusCode(499)
	}}, harness.Echo)
	for _, bad := range []string{
		"GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/3.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: secret\r\nX\r\n\r\n", "\x16\x03\x01",
		"GET /" + strings.Repeat("a", 3000), "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 3000),
		peers.Post("/", strings.Repeat("b", 20)), "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nx\r\n",
	} {
		c := ts.Dial()
		c.Send(peers.Get("/before?secret=1") + bad)
		c.Answer("GET")
		a := c.Answer("GET")
		if a.StatusCode != 499 || strings.Contains(a.Text, "before") {
			t.Errorf("%.50q: %d %.300s; log %s", bad, a.StatusCode, a.Text, ts.Log)
		}
	}
}
