package gale

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestWholeBodyLimit(t *testing.T) {
	var n atomic.Int64
	ts := startServer(t, &Server{StreamRequestBody: true, MaxRequestBodySize: 1000}, func(ctx *RequestCtx) {
		n.Store(int64(len(ctx.PostBody())))
	})
	c := ts.dial()
	c.send(post("/", strings.Repeat("x", DefaultMaxRequestBodySize+1)))
	c.read("POST")
	if n.Load() > DefaultMaxRequestBodySize {
		t.Errorf("PostBody returned %d bytes", n.Load())
	}
}

func TestBareBodyThatBreaksOff(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/flush" {
			ctx.WriteString("part")
			ctx.Flush()
			time.Sleep(50 * time.Millisecond)
			panic("on purpose")
		}
		ctx.SetBodyStream(&breakingReader{}, -1)
	})
	for _, p := range []string{"/stream", "/flush"} {
		c := ts.dial()
		c.send("GET " + p + " HTTP/1.0\r\n\r\n")
		b, err := io.ReadAll(c)
		if err == nil {
			t.Errorf("%s: %q ended in order", p, b)
		}
	}
}

// An invalid status code is sent as 500, with the body, and the connection stays open.
func TestStatusThatIsNone(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			ctx.Error("text", ctx.QueryArgs().GetUintOrZero("code"))
			if ctx.QueryArgs().Has("flush") {
				_ = ctx.Flush()
			}
		})
		c := ts.dial()
		for _, query := range []string{"code=1", "code=99", "code=1000", "code=99&flush", "code=1000&flush"} {
			c.send(get("/?" + query))
			c.want("GET", StatusInternalServerError, "text")
		}
	})
}

func TestInterimStatusAsFinal(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/1" {
			ctx.SetStatusCode(103)
			return
		}
		ctx.WriteString("second")
	})
	c := ts.dial()
	c.send(get("/1") + get("/2"))
	b, _ := io.ReadAll(io.LimitReader(c, 400))
	if bytes.Contains(b, []byte("second")) {
		t.Error("the answer to the second request is taken for one to the first")
	}
}

func TestKeepBodyBufferOfOneRequest(t *testing.T) {
	var bad atomic.Int64
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if ctx.Request.KeepBodyBuffer || ctx.Response.KeepBodyBuffer {
			bad.Add(1)
		}
		ctx.Request.KeepBodyBuffer, ctx.Response.KeepBodyBuffer = true, true
	})
	c := ts.dial()
	c.send(get("/") + get("/") + get("/"))
	for range 3 {
		c.read("GET")
	}
	if bad.Load() > 0 {
		t.Error("KeepBodyBuffer of one request is set in the next")
	}
}

func TestGetOnlyAllow(t *testing.T) {
	ts := startServer(t, &Server{GetOnly: true}, echo)
	c := ts.dial()
	c.send(post("/", "x"))
	if a := c.read("POST"); a.StatusCode == 405 && a.Header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
}

func TestTargetWithSmallReadBuffer(t *testing.T) {
	ts := startServer(t, &Server{ReadBufferSize: 4096}, echo)
	c := ts.dial()
	c.send(get("/" + strings.Repeat("a", 3000)))
	if a := c.read("GET"); a.StatusCode != 200 {
		t.Error(a.StatusCode)
	}
}

// breakingReader panics after some data.
type breakingReader struct{ n int }

func (p *breakingReader) Read(b []byte) (int, error) {
	if p.n++; p.n > 2 {
		time.Sleep(50 * time.Millisecond)
		panic("on purpose")
	}
	return copy(b, "data"), nil
}

// The writer of a body stream may wait for the client to leave: Done stays open until the
// stream is sent.
func TestDoneStaysOpenForStreams(t *testing.T) {
	left := make(chan error, 1)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		done := ctx.Done()
		leave := string(ctx.Path()) == "/leave"
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "%d", i)
				w.Flush()
				select {
				case <-done:
					left <- nil
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
			if leave {
				<-done
				left <- nil
			}
		})
	})
	c := ts.dial()
	for range 2 {
		c.send(get("/"))
		c.want("GET", 200, "012")
	}
	c.send(get("/leave"))
	c.Conn.(*net.TCPConn).CloseWrite()
	<-left
}

// closeOnce is a listener that must not be closed twice.
type closeOnce struct {
	net.Listener
	closed chan struct{}
}

func (l closeOnce) Close() error {
	close(l.closed)
	return l.Listener.Close()
}

func TestListenerIsClosedOnce(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: echo, Logger: &testLog{}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(closeOnce{ln, make(chan struct{})}) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	newTestConn(t, c).wantOpen()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
