package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// After its timeout a TimeoutHandler doesn't wait for a Read of its handler that waits
// until another goroutine has written to a client that reads nothing.
func TestTimeoutWhileWriting(t *testing.T) {
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		h := RequestHandler(func(ctx *RequestCtx) {
			body := ctx.RequestBodyStream()
			out := ctx.UserValue("out").(*sync.Mutex)
			go func() {
				for out.TryLock() { // the Flush has not begun yet
					out.Unlock()
					time.Sleep(time.Millisecond) // between two looks
				}
				io.Copy(io.Discard, body)
			}()
			ctx.Write(make([]byte, peers.DuplexSize))
			ctx.UserValue("flushed").(chan error) <- ctx.Flush()
		})
		peers.OnEngines(t, func(t *testing.T, e Engine) {
			peers.WithMoreTime(t, 200*time.Millisecond, func(limit time.Duration) error {
				s := &Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, WriteStallTimeout: -1}
				timed := TimeoutHandler(h, limit, "late")
				flushed := make(chan error, 1)
				s.Handler = func(ctx *RequestCtx) {
					ctx.SetUserValue("out", &ctx.x.(*h1Session).m.stream.out)
					ctx.SetUserValue("flushed", flushed)
					timed(ctx)
				}
				c := peers.ServeOn(t, peers.ListenDuplex(t), s, peers.LogTo(&s.Logger), nil, nil).Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n" + expect + "\r\n")
				status, err := c.Br.Peek(len("HTTP/1.1 200"))
				if err != nil || strings.HasSuffix(string(status), "408") {
					return fmt.Errorf("got %q, %v, want what the handler writes", status, err)
				}
				await.Until(t, "the end of the connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
				if err := <-flushed; err == nil {
					return errors.New("the sockets hold what the handler writes")
				}
				return nil
			})
		})
	}
}

// Nor does it wait for a Read that itself writes the responses to earlier requests.
func TestTimeoutWhileReadWrites(t *testing.T) {
	begun := make(chan bool, 1)
	timed := TimeoutHandler(func(ctx *RequestCtx) {
		begun <- true
		io.Copy(io.Discard, ctx.RequestBodyStream())
	}, 500*time.Millisecond, "late")
	h := func(ctx *RequestCtx) {
		if ctx.IsPost() {
			timed(ctx)
			return
		}
		ctx.Write(make([]byte, maxBatch-1<<10)) // not written before the next request
	}
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, WriteStallTimeout: -1}, h)
		c := ts.Dial()
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for {
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"); err != nil {
					return
				}
				for served := false; !served; {
					select {
					case <-begun:
						served = true
					case <-time.After(2 * time.Second): // the end, or the engine is what writes
						c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
						if _, err := io.Copy(io.Discard, c.Conn); !errors.Is(err, os.ErrDeadlineExceeded) {
							return
						}
					}
				}
				time.Sleep(time.Millisecond) // most likely the Read waits by now
				if _, err := io.WriteString(c, "hello"); err != nil {
					return
				}
			}
		}()
		await.Until(t, "the connection", func() bool { return ts.s.Stats().AcceptedConnections == 1 })
		await.Until(t, "its end", func() bool { return ts.s.GetOpenConnectionsCount() == 0 })
		c.Close()
		select {
		case begun <- true:
		default:
		}
		<-ended
		for len(begun) > 0 {
			<-begun
		}
	})
}

// Close closes the connections of HijackCounted, and what ends them in another way gives
// their places in the limits back.
func TestHijackCountedEnds(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, MaxConnsPerIP: 1, DrainTime: time.Hour, Logger: &peers.Log{}}
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
			await.Until(t, "the end", func() bool { return s.GetOpenConnectionsCount() == 0 && s.Stats().UpgradedConnections == 0 })
		}
		for range 3 {
			c := ts.Dial()
			c.Send(peers.Get("/panic"))
			c.Want("GET", 101, "")
			c.WantClosed()
			free()
			c = ts.Dial()
			c.Send(peers.Get("/") + "x")
			c.Want("GET", 101, "")
			c.WantText("x")
			c.Close()
			free()
		}
		c := ts.Dial()
		c.Send(peers.Get("/") + "x")
		c.Want("GET", 101, "")
		c.WantText("x")
		go s.Shutdown()
		<-left // when the drain begins
		s.Close()
		c.WantClosed()
		free()
		if n := s.perIP.n; len(n) > 0 {
			t.Errorf("still counted: %v", n)
		}
	})
}

// A stream writer that panics must not leave a body that looks complete.
func TestCompressHandlerStreamWriterPanics(t *testing.T) {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	sw := encodingStreamWriter(func(w *bufio.Writer) {
		_, _ = w.WriteString("some")
		_ = w.Flush()
		panic("on purpose")
	}, compress.Gzip, 6)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		sw(w)
	}()
	_ = w.Flush()
	if _, err := compress.AppendDecoded(nil, out.Bytes(), compress.Gzip, 0); err == nil {
		t.Error("the body looks complete")
	}
}
