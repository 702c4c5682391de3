package gale

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/galeutil"
)

// inBubble serves s on connections in memory, in a bubble, and calls f with one of them.
func inBubble(t *testing.T, s *Server, f func(t *testing.T, c *testConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ln := galeutil.NewInmemoryListener()
		if s.Logger == nil {
			s.Logger = &testLog{}
		}
		done := make(chan struct{})
		go func() { _ = s.Serve(ln); close(done) }()
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		tc := newTestConn(t, c)
		_ = c.SetDeadline(time.Now().Add(24 * time.Hour))
		defer func() {
			c.Close()
			ln.Close()
			<-done
			_ = s.Close()
		}()
		f(t, tc)
	})
}

// took calls f and returns how long that took, in whole seconds.
func took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin).Truncate(time.Second)
}

// A body that stops arriving is answered with 408 after the stall timeout, also after the
// default one. Each byte restarts the time.
func TestReadStallOfBody(t *testing.T) {
	for _, limit := range []time.Duration{0, 5 * time.Second} {
		inBubble(t, &Server{ReadStallTimeout: limit, Handler: echo}, func(t *testing.T, c *testConn) {
			want := stallTimeout(limit)
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
			for range 10 {
				time.Sleep(want - time.Second)
				c.send("x")
			}
			if d := took(func() { c.want("POST", 408, "Request timeout") }); d != want {
				t.Errorf("limit %v: ended after %v, want %v", limit, d, want)
			}
			c.wantClosed()
		})
	}
}

// A negative stall timeout means no timeout.
func TestReadStallOff(t *testing.T) {
	inBubble(t, &Server{ReadStallTimeout: -1, Handler: echo}, func(t *testing.T, c *testConn) {
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		time.Sleep(time.Hour)
		c.send("y")
		c.want("POST", 200, "POST / xy")
	})
}

// HeaderReceived may give one request another stall timeout.
func TestReadStallOfOneRequest(t *testing.T) {
	s := &Server{Handler: echo, HeaderReceived: func(h *RequestHeader) RequestConfig {
		if string(h.RequestURI()) == "/slow" {
			return RequestConfig{ReadStallTimeout: -1}
		}
		return RequestConfig{ReadStallTimeout: 2 * time.Second}
	}}
	inBubble(t, s, func(t *testing.T, c *testConn) {
		c.send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		time.Sleep(time.Hour)
		c.send("y")
		c.want("POST", 200, "POST /slow xy")
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		if d := took(func() { c.want("POST", 408, "Request timeout") }); d != 2*time.Second {
			t.Errorf("ended after %v", d)
		}
	})
}

// The read of a streamed body that stops arriving fails, the handler answers, and
// the connection is closed.
func TestReadStallOfStream(t *testing.T) {
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		b, err := io.ReadAll(ctx.RequestBodyStream())
		if !errors.Is(err, ErrTimeout) {
			t.Errorf("read %q, %v", b, err)
		}
		ctx.WriteString("got " + string(b))
	}}
	inBubble(t, s, func(t *testing.T, c *testConn) {
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
		for range 3 {
			time.Sleep(20 * time.Second)
			c.send("x")
		}
		var a answer
		if d := took(func() { a = c.want("POST", 200, "got xxx") }); d != DefaultStallTimeout {
			t.Errorf("ended after %v", d)
		}
		if !a.Close {
			t.Error("the answer doesn't say that the connection is closed")
		}
		c.wantClosed()
		if n := s.Stats().Timeouts; n != 1 {
			t.Errorf("%d time-outs were counted, want 1", n)
		}
	})
}

// The same on sockets, on both engines.
func TestReadStallOnSockets(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		for _, stream := range []bool{false, true} {
			s := &Server{Engine: e, StreamRequestBody: stream, ReadStallTimeout: 200 * time.Millisecond, Handler: func(ctx *RequestCtx) {
				if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); !errors.Is(err, ErrTimeout) {
					t.Errorf("a streamed body ended with %v", err)
				}
				ctx.SetStatusCode(StatusRequestTimeout)
				ctx.WriteString("Request timeout")
			}}
			ts := startServer(t, s, nil)
			c := ts.dial()
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
			c.want("POST", 408, "Request timeout")
			c.wantClosed()
		}
	})
}
