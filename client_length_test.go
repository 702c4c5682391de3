package gale

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/galehttp/gale/internal/clock"
)

// A length that doesn't fit into an int, of 32 bits, is no shorter one: what comes
// behind that would be the next response.
func TestClientLengthBeyondInt(t *testing.T) {
	s := scripted(t, func(p *scriptConn, _ int) {
		for p.request() != nil {
			p.write("HTTP/1.1 200 OK\r\nContent-Length: 4294967300\r\n\r\nevilHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			return
		}
	})
	c := &HostClient{Addr: s.addr(), MaxResponseBodySize: -1}
	resp, err := getFrom(c, "GET", s.url())
	if err == nil {
		t.Errorf("got %q", resp.Body())
	}
	if math.MaxInt == math.MaxInt32 {
		wantError(t, err, ErrBodyTooLarge)
	}
}

// brokenConn is a connection whose reads give what its list says, and then its end.
type brokenConn struct {
	net.Conn
	errs []error
}

func (c *brokenConn) Read([]byte) (int, error) {
	if len(c.errs) == 0 {
		return 0, io.EOF
	}
	err := c.errs[0]
	c.errs = c.errs[1:]
	return 0, err
}

// A connection that broke down as the network is gone has not ended: a body that
// goes on until the connection ends isn't complete then.
func TestClientReadETIMEDOUT(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	broken := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}
	cc := newClientConn(&brokenConn{a, []error{broken}}, "a")
	cc.lazy = true
	cc.read.want, cc.read.set = clock.Ticks()+clock.Tick(1<<40), clock.Ticks()+clock.Tick(1<<39)
	if _, err := cc.readSome(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the connection ended with %v", err)
	}
}
