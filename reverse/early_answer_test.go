package reverse_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/reverse"
)

// lateConn is a connection to an upstream. When it is armed, the goroutine that sends the body begins
// its next write after the exchange has ended all writes by a deadline, or closed the connection.
type lateConn struct {
	net.Conn
	armed           atomic.Bool
	once            sync.Once
	sending, halted chan struct{} // closed before that write, and after the end of writes
}

func (c *lateConn) Write(p []byte) (int, error) {
	if c.armed.CompareAndSwap(true, false) {
		close(c.sending)
		<-c.halted
	}
	return c.Conn.Write(p)
}

func (c *lateConn) SetWriteDeadline(d time.Time) error {
	err := c.Conn.SetWriteDeadline(d)
	if !d.IsZero() && d.Before(time.Now()) {
		c.once.Do(func() { close(c.halted) })
	}
	return err
}

func (c *lateConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.halted) })
	return err
}

// An upstream that answers early and reads no more doesn't hold the answer back, also if the goroutine
// that sends the body is about to write.
func TestAnswersBesideWrite(t *testing.T) { onEngines(t, testAnswersBesideWrite) }

func testAnswersBesideWrite(t *testing.T) {
	far, near := net.Pipe()
	defer far.Close()
	up := &lateConn{Conn: near, sending: make(chan struct{}), halted: make(chan struct{})}
	p := &reverse.Proxy{
		Upstreams:       []string{"127.0.0.1:1"},
		BodyIdleTimeout: time.Hour,
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return up, nil },
	}
	c, br := dial(t, serve(t, p))
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
	readHead(bufio.NewReader(far))
	up.armed.Store(true)
	io.WriteString(c, "a part of the body")
	<-up.sending
	io.WriteString(far, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
	if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("the client got %q", got)
	}
}

// An answer that has begun isn't cut off because the upstream takes no more of the request.
func TestAnswersBesideStall(t *testing.T) { onUpstreams(t, testAnswersBesideStall) }

func testAnswersBesideStall(t *testing.T) {
	const idle = 800 * time.Millisecond
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if !upstream2 {
			if err := rc.EnableFullDuplex(); err != nil {
				t.Error("EnableFullDuplex:", err)
			}
		}
		for begin := time.Now(); time.Since(begin) < idle*3/2; { // longer than the stall may last
			io.WriteString(w, "a")
			_ = rc.Flush()
			time.Sleep(idle / 20) // a slow answer
		}
		io.WriteString(w, "z")
		_ = rc.Flush()
		panic(http.ErrAbortHandler) // else net/http reads the body
	})
	c, br := dial(t, serve(t, &reverse.Proxy{Upstreams: []string{addr}, BodyIdleTimeout: idle}))
	go func() {
		piece := make([]byte, 1<<20)
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
		for range 64 { // more than all buffers hold
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	}()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatalf("reading the head of the response: %v", err)
	}
	b, _ := io.ReadAll(resp.Body)
	if !strings.HasPrefix(string(b), "a") || !strings.HasSuffix(string(b), "z") {
		t.Errorf("the client got %d: %q", resp.StatusCode, b)
	}
}

// An upstream that begins a response with 2xx in place of the 100 gets the body; one that sends a
// whole response has no need of it.
func TestAcceptsWithout100(t *testing.T) { onEngines(t, testAcceptsWithout100) }

func testAcceptsWithout100(t *testing.T) {
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		const head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
		if strings.HasPrefix(readHead(br), "POST /whole ") {
			io.WriteString(c, head+"body")
			return
		}
		io.WriteString(c, head)
		body := make([]byte, 4)
		if _, err := io.ReadFull(br, body); err != nil {
			t.Errorf("the upstream got no body: %v", err)
		}
		c.Write(body)
	})
	proxyAddr := start(t, addr)
	for path, asked := range map[string]bool{"/whole": false, "/begins": true} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		if asked {
			io.WriteString(c, "body")
		}
		got, err := io.ReadAll(br)
		if strings.Contains(string(got), " 100 ") && !asked || !strings.Contains(string(got), "HTTP/1.1 200 ") || !strings.HasSuffix(string(got), "\r\n\r\nbody") || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
