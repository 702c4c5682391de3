package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestWholeBodyLimit(t *testing.T) {
	var n atomic.Int64
	ts := harness.Start(t, &gale.Server{StreamRequestBody: true, MaxRequestBodySize: 1000}, func(ctx *gale.RequestCtx) {
		n.Store(int64(len(ctx.PostBody())))
	})
	c := ts.Dial()
	c.Send(peers.Post("/", strings.Repeat("x", gale.DefaultMaxRequestBodySize+1)))
	c.Answer("POST")
	if n.Load() > gale.DefaultMaxRequestBodySize {
		t.Errorf("PostBody returned %d bytes", n.Load())
	}
}

// A body whose end is that of the connection does not look whole if it breaks off, not
// even to a client that has read all that was sent before.
func TestBareBodyThatBreaksOff(t *testing.T) {
	proceed := make(chan bool)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/flush" {
			ctx.WriteString("part")
			ctx.Flush()
			<-proceed
			panic("on purpose")
		}
		ctx.SetBodyStream(&breakingReader{proceed: proceed}, -1)
	})
	for p, part := range map[string]string{"/stream": "datadata", "/flush": "part"} {
		c := ts.Dial()
		c.Send("GET " + p + " HTTP/1.0\r\n\r\n")
		for got := ""; !strings.HasSuffix(got, part); {
			b, err := c.Br.ReadByte()
			if err != nil {
				t.Fatalf("%s: %v after %q", p, err, got)
			}
			got += string(b)
		}
		proceed <- true
		b, err := io.ReadAll(c.Br)
		if err == nil {
			t.Errorf("%s: %q ended in order", p, b)
		}
	}
}

// An invalid status code is sent as 500, with the body, and the connection stays open.
func TestStatusThatIsNone(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e}, func(ctx *gale.RequestCtx) {
			ctx.Error("text", ctx.QueryArgs().GetUintOrZero("code"))
			if ctx.QueryArgs().Has("flush") {
				_ = ctx.Flush()
			}
		})
		c := ts.Dial()
		for _, query := range []string{"code=1", "code=99", "code=1000", "code=99&flush", "code=1000&flush"} {
			c.Send(peers.Get("/?" + query))
			c.Want("GET", gale.StatusInternalServerError, "text")
		}
	})
}

func TestInterimStatusAsFinal(t *testing.T) {
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/1" {
			ctx.SetStatusCode(103)
			return
		}
		ctx.WriteString("second")
	})
	c := ts.Dial()
	c.Send(peers.Get("/1") + peers.Get("/2")) // the answer to the second must not be taken for one to the first
	c.Want("GET", gale.StatusInternalServerError, "")
	c.Want("GET", gale.StatusOK, "second")
}

func TestKeepBodyBufferOfOneRequest(t *testing.T) {
	var bad atomic.Int64
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		if ctx.Request.KeepBodyBuffer || ctx.Response.KeepBodyBuffer {
			bad.Add(1)
		}
		ctx.Request.KeepBodyBuffer, ctx.Response.KeepBodyBuffer = true, true
	})
	c := ts.Dial()
	c.Send(peers.Get("/") + peers.Get("/") + peers.Get("/"))
	for range 3 {
		c.Answer("GET")
	}
	if bad.Load() > 0 {
		t.Error("KeepBodyBuffer of one request is set in the next")
	}
}

func TestGetOnlyAllow(t *testing.T) {
	ts := harness.Start(t, &gale.Server{GetOnly: true}, harness.Echo)
	c := ts.Dial()
	c.Send(peers.Post("/", "x"))
	if a := c.Answer("POST"); a.StatusCode == 405 && a.Header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
}

func TestTargetWithSmallReadBuffer(t *testing.T) {
	ts := harness.Start(t, &gale.Server{ReadBufferSize: 4096}, harness.Echo)
	c := ts.Dial()
	c.Send(peers.Get("/" + strings.Repeat("a", 3000)))
	if a := c.Answer("GET"); a.StatusCode != 200 {
		t.Error(a.StatusCode)
	}
}

// breakingReader panics after some data, when it may proceed.
type breakingReader struct {
	n       int
	proceed chan bool
}

func (p *breakingReader) Read(b []byte) (int, error) {
	if p.n++; p.n > 2 {
		<-p.proceed
		panic("on purpose")
	}
	return copy(b, "data"), nil
}

// The writer of a body stream may wait for the client to leave: Done stays open until the
// stream is sent.
func TestDoneStaysOpenForStreams(t *testing.T) {
	left := make(chan error, 1)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
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
				case <-time.After(10 * time.Millisecond): // Done must not be closed in this time
				}
			}
			if leave {
				<-done
				left <- nil
			}
		})
	})
	c := ts.Dial()
	for range 2 {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "012")
	}
	c.Send(peers.Get("/leave"))
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
	s := &gale.Server{Handler: harness.Echo, Logger: &peers.Log{}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(closeOnce{ln, make(chan struct{})}) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peers.NewConn(t, c).WantOpen()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
