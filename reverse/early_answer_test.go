package reverse_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/reverse"
)

// lateConn is a connection to an upstream. When it is armed, it delays the next write deadline of the
// goroutine that sends the body until the exchange has ended all writes by a deadline.
type lateConn struct {
	net.Conn
	armed, wrote    atomic.Bool
	sending, halted chan struct{} // closed before that write deadline is set, and after the other one
}

func (c *lateConn) SetWriteDeadline(d time.Time) error {
	if c.armed.CompareAndSwap(true, false) {
		close(c.sending)
		<-c.halted
	}
	return c.Conn.SetWriteDeadline(d)
}

func (c *lateConn) Write(p []byte) (int, error) {
	c.wrote.Store(true)
	return c.Conn.Write(p)
}

// SetDeadline returns when the goroutine that sends the body writes, or has ended.
func (c *lateConn) SetDeadline(d time.Time) error {
	err := c.Conn.SetDeadline(d)
	if d.IsZero() || d.After(time.Now()) {
		return err
	}
	c.wrote.Store(false)
	close(c.halted)
	sends, stacks := true, make([]byte, 1<<20)
	for begin := time.Now(); sends && !c.wrote.Load() && time.Since(begin) < wait; {
		runtime.Gosched()
		sends = bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*requestBody).send("))
	}
	return err
}

// An upstream that answers early and reads no more doesn't hold the answer back, also if the goroutine
// that sends the body is about to set its next deadline.
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
