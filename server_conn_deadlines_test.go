package gale

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
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
	const after = 100 * time.Millisecond
	big := make([]byte, 32<<20)
	onEngines(t, func(t *testing.T, e Engine) {
		got := make(chan error, 1)
		s := &Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
					time.Sleep(after / 4)
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
				c.send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
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
					waitClosed(t, s, kind+" "+path)
				}
				c.Close()
			}
			waitClosed(t, s, kind)
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
	onEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/set":
				_ = ctx.Conn().SetDeadline(time.Now().Add(300 * time.Millisecond))
				_, _ = ctx.Write(ctx.PostBody())
			case "/wait":
				time.Sleep(400 * time.Millisecond)
				fallthrough
			default:
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
			c.send(post("/set", "a") + post("/wait", "b"))
			c.want("POST", 200, "a")
			c.want("POST", 200, "b")
			c.send("POST /next HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nc")
			time.Sleep(10 * time.Millisecond) // most likely the handler waits by now
			c.send("d")
			c.want("POST", 200, "cd")
		}
	})
}

// The server's own timeouts, including IdleTimeout, still work after a handler has used
// the connection.
func TestLimitsHoldAfterConn(t *testing.T) {
	s := &Server{IdleTimeout: time.Minute, Handler: func(ctx *RequestCtx) {
		_ = ctx.Conn().SetDeadline(time.Now().Add(time.Hour))
		echo(ctx)
	}}
	inBubble(t, s, func(t *testing.T, c *testConn) {
		for range 3 {
			c.send(get("/"))
			c.want("GET", 200, "GET / ")
			time.Sleep(50 * time.Second)
		}
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx")
		if d := took(func() { c.want("POST", 408, "Request timeout") }); d != DefaultStallTimeout {
			t.Errorf("a body stalled for %v", d)
		}
	})
	inBubble(t, s, func(t *testing.T, c *testConn) {
		c.send(get("/"))
		c.want("GET", 200, "GET / ")
		if d := took(c.wantClosed); d != time.Minute {
			t.Errorf("idle for %v", d)
		}
	})
}

// The server notices that a client has left even while the handler owns the deadlines.
func TestDoneWithConnDeadlines(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		done := make(chan bool, 1)
		s := &Server{Engine: e, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			first := ctx.Done()
			_ = ctx.Conn().SetDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
			select {
			case <-first:
				done <- true
			case <-time.After(time.Minute):
				done <- false
			}
		}}
		ts := startServer(t, s, nil)
		c := ts.dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
		time.Sleep(100 * time.Millisecond) // most likely the deadline has passed
		c.Close()
		if !<-done {
			t.Error("Done is not closed")
		}
	})
}
