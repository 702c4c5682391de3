package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// senders returns a handler that sends bodies in every possible way.
func senders(t *testing.T, size int) gale.RequestHandler {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	files := (&gale.FS{Root: dir}).NewRequestHandler()
	return func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/body":
			ctx.Response.SetBodyRaw(big)
		case "/stream":
			ctx.SetBodyStream(bytes.NewReader(big), -1)
		case "/reader":
			ctx.SetBodyStream(struct{ io.Reader }{bytes.NewReader(big)}, len(big))
		case "/flush":
			for b := big; len(b) > 0; {
				n := min(len(b), 64<<10)
				ctx.Write(b[:n])
				if ctx.Flush() != nil {
					return
				}
				b = b[n:]
			}
		case "/small":
			ctx.Response.SetBodyRaw(big[:8<<10])
		default:
			files(ctx)
		}
	}
}

// If a client reads nothing, its connection is closed, on every kind of connection and
// however the response is sent.
func TestWriteStall(t *testing.T) {
	h := senders(t, 32<<20)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, WriteStallTimeout: 50 * time.Millisecond, Handler: h}
		for kind, dial := range dialers(t, s) {
			for _, path := range []string{"/body", "/stream", "/reader", "/flush", "/big.bin", "/small"} {
				before := s.Stats().Timeouts
				c := dial()
				req := peers.Get(path)
				if path == "/small" { // pipelined responses
					req = string(bytes.Repeat([]byte(req), 4000))
				}
				go func() { _, _ = io.WriteString(c, req) }()
				await.Until(t, "a time-out: "+kind+" "+path, func() bool { return s.Stats().Timeouts > before })
				peers.WaitClosed(t, s, kind+" "+path)
				c.Close()
			}
		}
	})
}

// A client that reads something now and then gets everything, even if the whole response
// takes longer than the timeout.
func TestWriteStallProgress(t *testing.T) {
	const size = 1 << 20
	h := senders(t, size)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		peers.WithMoreTime(t, 400*time.Millisecond, func(limit time.Duration) error {
			s := &gale.Server{Engine: e, WriteStallTimeout: limit, Handler: h}
			var n int
			ended := make(chan error)
			for kind, dial := range dialers(t, s) {
				for _, path := range []string{"/body", "/stream", "/flush", "/big.bin"} {
					c := dial()
					c.Send("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
					n++
					go func() {
						if got, err := readSlowly(c, limit/40); err != nil || got < size {
							ended <- fmt.Errorf("%s %s: the connection ended after %d bytes: %v", kind, path, got, err)
							return
						}
						ended <- nil
					}()
				}
			}
			var errs []error
			for range n {
				errs = append(errs, <-ended)
			}
			return errors.Join(errs...)
		})
	})
}

// readSlowly reads to the end, with pauses, and returns how many bytes came.
func readSlowly(r io.Reader, pause time.Duration) (n int, err error) {
	for b := make([]byte, 16<<10); ; time.Sleep(pause) { // a slow reader
		k, err := r.Read(b)
		if n += k; err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// tookClosing returns how long it takes until s has no connection, at most a day. It runs
// in a bubble in which a request was sent to s.
func tookClosing(s *gale.Server) time.Duration {
	synctest.Wait()
	return peers.Took(func() {
		for i := 0; s.GetOpenConnectionsCount() > 0 && i < 2*24*3600; i++ {
			time.Sleep(time.Second / 2) // between two looks
		}
	})
}

// Connections in memory, and others that aren't sockets, are closed 30 seconds after the
// last byte that the client took, by default, and exact to the second.
func TestWriteStallInBubble(t *testing.T) {
	for _, path := range []string{"/reader", "/stream", "/flush", "/big.bin"} {
		for _, lent := range []bool{false, true} {
			h := senders(t, 1<<20)
			s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
				if lent {
					ctx.Conn()
				}
				h(ctx)
			}}
			harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
				c.Send(peers.Get(path))
				b := make([]byte, 1<<10)
				for range 10 {
					if _, err := io.ReadFull(c, b); err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					time.Sleep(gale.DefaultStallTimeout - time.Second) // a slow reader, by the clock of the bubble
				}
				d := tookClosing(s)
				if d > gale.DefaultStallTimeout*5/4+time.Second {
					t.Errorf("%s: held for %v", path, d)
				}
				if n := s.Stats().Timeouts; n != 1 {
					t.Errorf("%s: %d time-outs were counted, want 1", path, n)
				}
			})
		}
	}
}

// The same over net.Pipe, on which a write that times out may have written a part.
func TestWriteStallOfPartialWrites(t *testing.T) {
	for _, lent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			body := bytes.Repeat([]byte("x"), 32<<10)
			s := &gale.Server{Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
				if lent {
					ctx.Conn()
				}
				ctx.Response.SetBodyRaw(body)
			}}
			server, client := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- s.ServeConn(server) }()
			c := peers.NewConn(t, client)
			_ = client.SetDeadline(time.Now().Add(24 * time.Hour))
			c.Send(peers.Get("/"))
			b := make([]byte, 1<<10)
			for range 20 { // 10 minutes in all
				if _, err := io.ReadFull(c, b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second) // a slow reader, by the clock of the bubble
			}
			d := peers.Took(func() { <-ended })
			if d < gale.DefaultStallTimeout-6*time.Second || d > gale.DefaultStallTimeout*5/2 {
				t.Errorf("ended after %v", d)
			}
		})
	}
}

// A negative timeout means no timeout, and HeaderReceived may give one response another
// timeout.
func TestWriteStallOff(t *testing.T) {
	h := senders(t, 1<<20)
	s := &gale.Server{WriteStallTimeout: -1, Handler: h, HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
		if string(h.RequestURI()) == "/stream" {
			return gale.RequestConfig{WriteStallTimeout: 5 * time.Second}
		}
		return gale.RequestConfig{}
	}}
	harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
		c.Send(peers.Get("/flush"))
		time.Sleep(time.Hour) // by the clock of the bubble; no time-out may end the response
		if a := c.Answer("GET"); len(a.Text) != 1<<20 {
			t.Errorf("got %d bytes", len(a.Text))
		}
		c.Send(peers.Get("/stream"))
		time.Sleep(8 * time.Second) // by the clock of the bubble: longer than the time-out
		if n := s.GetOpenConnectionsCount(); n != 0 {
			t.Error("the time-out of one response did not count")
		}
	})
}

// WriteTimeout and SetWriteDeadline also apply: the earliest one counts.
func TestWriteStallAndDeadlines(t *testing.T) {
	for _, tt := range []struct {
		stall, timeout, deadline, want time.Duration
	}{
		{stall: 10 * time.Second, timeout: time.Hour, want: 10 * time.Second},
		{stall: time.Hour, timeout: 10 * time.Second, want: 10 * time.Second},
		{stall: time.Hour, deadline: 10 * time.Second, want: 10 * time.Second},
		{stall: 10 * time.Second, deadline: time.Hour, want: 10 * time.Second},
		{stall: -1, deadline: 10 * time.Second, want: 10 * time.Second},
	} {
		s := &gale.Server{WriteStallTimeout: tt.stall, WriteTimeout: tt.timeout, Handler: func(ctx *gale.RequestCtx) {
			if tt.deadline > 0 {
				_ = ctx.SetWriteDeadline(time.Now().Add(tt.deadline))
			}
			for {
				_, _ = ctx.Write(make([]byte, 64<<10))
				if ctx.Flush() != nil {
					return
				}
			}
		}}
		harness.InBubble(t, s, func(t *testing.T, c *peers.Conn) {
			c.Send(peers.Get("/"))
			d := tookClosing(s)
			if d < tt.want || d > tt.want*5/4+time.Second {
				t.Errorf("%+v: ended after %v", tt, d)
			}
		})
	}
}

// countingConn counts the deadlines that are set on it.
type countingConn struct {
	net.Conn
	reads, writes atomic.Int32
}

func (c *countingConn) SetReadDeadline(t time.Time) error {
	c.reads.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *countingConn) SetWriteDeadline(t time.Time) error {
	c.writes.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// Small responses that the peer takes at once don't set a deadline each. Nor do the
// bodies of requests that have already arrived.
func TestDeadlinesAreSetOnceInAWhile(t *testing.T) {
	for _, s := range []*gale.Server{
		{},
		{WriteTimeout: time.Minute, ReadTimeout: time.Minute},
	} {
		s.Handler = harness.Echo
		synctest.Test(t, func(t *testing.T) { // no time passes in the bubble
			server, client := net.Pipe()
			counted := &countingConn{Conn: server}
			ended := make(chan error, 1)
			go func() { ended <- s.ServeConn(counted) }()
			c := peers.NewConn(t, client)
			for range 1000 {
				c.Send(peers.Post("/", "body"))
				c.Want("POST", 200, "POST / body")
			}
			client.Close()
			<-ended
			// One more of each comes from the check whether the connection has deadlines.
			if r, w := counted.reads.Load(), counted.writes.Load(); r > 4 || w > 3 {
				t.Errorf("1,000 requests set %d deadlines for reads and %d for writes", r, w)
			}
		})
	}
}
