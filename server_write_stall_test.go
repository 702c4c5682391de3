package gale

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
)

// senders returns a handler that sends bodies in every possible way.
func senders(t *testing.T, size int) RequestHandler {
	dir := t.TempDir()
	big := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	files := (&FS{Root: dir}).NewRequestHandler()
	return func(ctx *RequestCtx) {
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

// waitClosed waits until s has no connection.
func waitClosed(t *testing.T, s *Server, what string) {
	t.Helper()
	await(t, "the end of connections: "+what, func() bool { return s.GetOpenConnectionsCount() == 0 })
}

// If a client reads nothing, its connection is closed, on every kind of connection and
// however the response is sent.
func TestWriteStall(t *testing.T) {
	h := senders(t, 32<<20)
	onEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, WriteStallTimeout: 150 * time.Millisecond, Handler: h}
		for kind, dial := range dialers(t, s) {
			for _, path := range []string{"/body", "/stream", "/reader", "/flush", "/big.bin", "/small"} {
				before := s.Stats().Timeouts
				c := dial()
				req := get(path)
				if path == "/small" { // pipelined responses
					req = string(bytes.Repeat([]byte(req), 4000))
				}
				go func() { _, _ = io.WriteString(c, req) }()
				await(t, "a time-out: "+kind+" "+path, func() bool { return s.Stats().Timeouts > before })
				waitClosed(t, s, kind+" "+path)
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
	onEngines(t, func(t *testing.T, e Engine) {
		withMoreTime(t, 400*time.Millisecond, func(limit time.Duration) error {
			s := &Server{Engine: e, WriteStallTimeout: limit, Handler: h}
			var n int
			ended := make(chan error)
			for kind, dial := range dialers(t, s) {
				for _, path := range []string{"/body", "/stream", "/flush", "/big.bin"} {
					c := dial()
					c.send("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
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
	for b := make([]byte, 16<<10); ; time.Sleep(pause) {
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
func tookClosing(s *Server) time.Duration {
	synctest.Wait()
	return took(func() {
		for i := 0; s.GetOpenConnectionsCount() > 0 && i < 2*24*3600; i++ {
			time.Sleep(time.Second / 2)
		}
	})
}

// Connections in memory, and others that aren't sockets, are closed 30 seconds after the
// last byte that the client took, by default, and exact to the second.
func TestWriteStallInBubble(t *testing.T) {
	for _, path := range []string{"/reader", "/stream", "/flush", "/big.bin"} {
		for _, lent := range []bool{false, true} {
			h := senders(t, 1<<20)
			s := &Server{Handler: func(ctx *RequestCtx) {
				if lent {
					ctx.Conn()
				}
				h(ctx)
			}}
			inBubble(t, s, func(t *testing.T, c *testConn) {
				c.send(get(path))
				b := make([]byte, 1<<10)
				for range 10 {
					if _, err := io.ReadFull(c, b); err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					time.Sleep(DefaultStallTimeout - time.Second)
				}
				d := tookClosing(s)
				if d > DefaultStallTimeout*5/4+time.Second {
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
			s := &Server{Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
				if lent {
					ctx.Conn()
				}
				ctx.Response.SetBodyRaw(body)
			}}
			server, client := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- s.ServeConn(server) }()
			c := newTestConn(t, client)
			_ = client.SetDeadline(time.Now().Add(24 * time.Hour))
			c.send(get("/"))
			b := make([]byte, 1<<10)
			for range 20 { // 10 minutes in all
				if _, err := io.ReadFull(c, b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
			d := took(func() { <-ended })
			if d < DefaultStallTimeout-6*time.Second || d > DefaultStallTimeout*5/2 {
				t.Errorf("ended after %v", d)
			}
		})
	}
}

// A negative timeout means no timeout, and HeaderReceived may give one response another
// timeout.
func TestWriteStallOff(t *testing.T) {
	h := senders(t, 1<<20)
	s := &Server{WriteStallTimeout: -1, Handler: h, HeaderReceived: func(h *RequestHeader) RequestConfig {
		if string(h.RequestURI()) == "/stream" {
			return RequestConfig{WriteStallTimeout: 5 * time.Second}
		}
		return RequestConfig{}
	}}
	inBubble(t, s, func(t *testing.T, c *testConn) {
		c.send(get("/flush"))
		time.Sleep(time.Hour)
		if a := c.read("GET"); len(a.body) != 1<<20 {
			t.Errorf("got %d bytes", len(a.body))
		}
		c.send(get("/stream"))
		time.Sleep(8 * time.Second)
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
		s := &Server{WriteStallTimeout: tt.stall, WriteTimeout: tt.timeout, Handler: func(ctx *RequestCtx) {
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
		inBubble(t, s, func(t *testing.T, c *testConn) {
			c.send(get("/"))
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
	for _, s := range []*Server{
		{},
		{WriteTimeout: time.Minute, ReadTimeout: time.Minute},
	} {
		s.Handler = echo
		synctest.Test(t, func(t *testing.T) { // no time passes in the bubble
			server, client := net.Pipe()
			counted := &countingConn{Conn: server}
			ended := make(chan error, 1)
			go func() { ended <- s.ServeConn(counted) }()
			c := newTestConn(t, client)
			for range 1000 {
				c.send(post("/", "body"))
				c.want("POST", 200, "POST / body")
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
