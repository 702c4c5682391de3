package gale

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

func TestDoneAfterTimeout(t *testing.T) {
	got := make(chan bool, 1)
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		if string(ctx.Path()) != "/slow" {
			return
		}
		time.Sleep(300 * time.Millisecond)
		select {
		case <-ctx.Done():
			got <- true
		case <-time.After(300 * time.Millisecond):
			got <- false
		}
	}, 100*time.Millisecond, "late"))
	c := ts.dial()
	c.send(get("/slow"))
	c.want("GET", 408, "late")
	for range 3 {
		c.send(get("/"))
		c.want("GET", 200, "")
		time.Sleep(100 * time.Millisecond)
	}
	if !<-got {
		t.Error("Done isn't closed after the time-out")
	}
}

func TestStreamAfterPanic(t *testing.T) {
	res := make(chan error, 1)
	ts := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
		r := ctx.RequestBodyStream()
		go func() {
			time.Sleep(300 * time.Millisecond)
			var b [10]byte
			_, err := r.Read(b[:])
			res <- err
		}()
		panic("x")
	})
	c := ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
	c.read("POST")
	c.Close()
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
			time.Sleep(50 * time.Millisecond)
			if n := s.GetOpenConnectionsCount(); n != 0 {
				t.Errorf("%d open", n)
			}
		})
	}
}

func TestTimeoutAfterFlush(t *testing.T) {
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		ctx.WriteString("part")
		ctx.Flush()
		time.Sleep(300 * time.Millisecond)
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
			ts := startServer(t, nil, func(ctx *RequestCtx) {
				ctx.SetUserValue("a", countCloser{&n})
				ctx.SetBodyStream(countCloser{&n}, -1)
				switch how {
				case "panic":
					panic("on purpose")
				case "abort":
					panic(ErrAbortHandler)
				case "gone":
					<-ctx.Done()
					time.Sleep(20 * time.Millisecond)
				}
			})
			c := ts.dial()
			c.send(get("/"))
			if how == "gone" {
				time.Sleep(50 * time.Millisecond)
				c.Conn.(*net.TCPConn).SetLinger(0)
				c.Close()
			} else {
				io.ReadAll(c)
			}
			time.Sleep(100 * time.Millisecond)
			if n.Load() != 2 {
				t.Errorf("%d of 2 closed", n.Load())
			}
		})
	}
}

// countCloser counts how often it was closed.
type countCloser struct{ n *atomic.Int64 }

func (c countCloser) Read([]byte) (int, error) { return 0, io.EOF }
func (c countCloser) Close() error             { c.n.Add(1); return nil }
