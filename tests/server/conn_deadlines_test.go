package server

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// isLate reports whether err says that a deadline has passed.
func isLate(err error) bool {
	var ne interface{ Timeout() bool }
	return errors.As(err, &ne) && ne.Timeout()
}

// A deadline that a handler sets on its connection applies to the reading of a streamed
// body, to Flush, to a stream writer, and to the response after the handler. It ends with
// the message.
func TestConnDeadlinesCount(t *testing.T) {
	const after = 30 * time.Millisecond
	big := make([]byte, 32<<20)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		got := make(chan error, 1)
		s := &gale.Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			c := ctx.Conn()
			switch string(ctx.Path()) {
			case "/read":
				_ = c.SetReadDeadline(time.Now().Add(after))
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				got <- err
			case "/watched":
				<-time.After(time.Millisecond) // the handler does something
				_ = ctx.Done()
				_ = c.SetDeadline(time.Now().Add(after))
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				got <- err
			case "/other": // from another goroutine, while the read waits
				go func() {
					time.Sleep(after / 4) // most likely the read waits by now; it ends either way
					_ = c.SetReadDeadline(time.Now())
				}()
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				got <- err
			case "/far": // the server's own limits hold
				_ = ctx.SetReadDeadline(time.Now().Add(after))
				_ = c.SetDeadline(time.Now().Add(time.Hour))
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				got <- err
			case "/never":
				_ = ctx.SetReadDeadline(time.Now().Add(after))
				_ = c.SetDeadline(time.Time{})
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				got <- err
			case "/flush":
				_ = c.SetWriteDeadline(time.Now().Add(after))
				var err error
				for err == nil {
					_, _ = ctx.Write(big[:1<<20])
					err = ctx.Flush()
				}
				got <- err
			case "/farflush":
				_ = ctx.SetWriteDeadline(time.Now().Add(after))
				_ = c.SetDeadline(time.Now().Add(time.Hour))
				var err error
				for err == nil {
					_, _ = ctx.Write(big[:1<<20])
					err = ctx.Flush()
				}
				got <- err
			case "/stream":
				_ = c.SetWriteDeadline(time.Now().Add(after))
				ctx.SetBodyStream(&tellsEnd{got: got}, -1)
			case "/body":
				_ = c.SetWriteDeadline(time.Now().Add(after))
				ctx.Response.SetBodyRaw(big)
				got <- os.ErrDeadlineExceeded
			case "/past":
				_ = c.SetDeadline(time.Now().Add(-time.Second))
				_, _ = ctx.Write(big[:10])
				got <- ctx.Flush()
			}
		}}
		for kind, dial := range dialers(t, s) {
			for _, path := range []string{"/read", "/watched", "/other", "/far", "/never", "/flush", "/farflush", "/stream", "/body", "/past"} {
				c := dial()
				c.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
				select {
				case err := <-got:
					if !isLate(err) {
						t.Errorf("%s %s ended with %v", kind, path, err)
					}
				case <-time.After(time.Minute):
					t.Errorf("%s %s goes on", kind, path)
					c.Close()
					<-got
				}
				if path == "/body" {
					peers.WaitClosed(t, s, kind+" "+path)
				}
				c.Close()
			}
			peers.WaitClosed(t, s, kind)
		}
	})
}

// tellsEnd is a body that sends to got how it ended.
type tellsEnd struct{ got chan error }

func (*tellsEnd) Read(p []byte) (int, error) { return len(p), nil }

func (e *tellsEnd) CloseWithError(err error) error {
	e.got <- err
	return nil
}

// Deadlines of one message don't apply to the next one on the connection, not even if it
// was pipelined.
func TestConnDeadlinesEnd(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		begun := make(chan bool, 1)
		s := &gale.Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/set":
				_ = ctx.Conn().SetDeadline(time.Now().Add(300 * time.Millisecond))
				_, _ = ctx.Write(ctx.PostBody())
			case "/wait":
				time.Sleep(400 * time.Millisecond) // until the deadline of /set has passed
				fallthrough
			default:
				if string(ctx.Path()) == "/next" {
					begun <- true
				}
				b, err := io.ReadAll(ctx.RequestBodyStream())
				if err == nil {
					_, _ = ctx.Write(b)
					err = ctx.Flush()
				}
				if err != nil {
					t.Errorf("%s: %v", ctx.Path(), err)
				}
			}
		}}
		for _, dial := range dialers(t, s) {
			c := dial()
			c.Send(peers.Post("/set", "a") + peers.Post("/wait", "b"))
			c.Want("POST", 200, "a")
			c.Want("POST", 200, "b")
			c.Send("POST /next HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nc")
			<-begun // the handler waits for the rest, or is about to
			c.Send("d")
			c.Want("POST", 200, "cd")
		}
	})
}

// The server's own timeouts, including IdleTimeout, still work after a handler has used
// the connection.
func TestLimitsHoldAfterConn(t *testing.T) {
	s := &gale.Server{IdleTimeout: time.Minute, Handler: func(ctx *gale.RequestCtx) {
		_ = ctx.Conn().SetDeadline(time.Now().Add(time.Hour))
		harness.Echo(ctx)
	}}
	harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
		for range 3 {
			c.Send(peers.Get("/"))
			c.Want("GET", 200, "GET / ")
			time.Sleep(50 * time.Second) // by the clock of the bubble: shorter than IdleTimeout
		}
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		if d := peers.Took(func() { c.Want("POST", 408, "Request timeout") }); d != gale.DefaultStallTimeout {
			t.Errorf("a body stalled for %v", d)
		}
	})
	harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "GET / ")
		if d := peers.Took(c.WantClosed); d != time.Minute {
			t.Errorf("idle for %v", d)
		}
	})
}

// The server notices that a client has left even while the handler owns the deadlines.
func TestDoneWithConnDeadlines(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		read, done := make(chan error, 1), make(chan bool, 1)
		s := &gale.Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			first := ctx.Done()
			_ = ctx.Conn().SetDeadline(time.Now().Add(50 * time.Millisecond))
			_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			read <- err
			select {
			case <-first:
				done <- true
			case <-time.After(time.Minute):
				done <- false
			}
		}}
		ts := harness.Start(t, s, nil)
		c := ts.Dial()
		c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
		if err := <-read; !isLate(err) {
			t.Errorf("reading the body ended with %v, want the deadline", err)
		}
		c.Close()
		if !<-done {
			t.Error("Done is not closed")
		}
	})
}
