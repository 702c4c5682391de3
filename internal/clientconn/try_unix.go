//go:build unix

package clientconn

import (
	"syscall"
)

// trier writes to a socket without waiting.
type trier struct {
	onTry func(fd uintptr) bool // tryStep, made when it is first needed
	b     []byte
	n     int
	err   error
}

// CanTry reports whether TryWrite can be used on the connection.
func (c *Conn) CanTry() bool { return c.raw != nil && !c.tls }

// TryWrite writes as much of p as the socket takes without waiting. n is how many bytes
// that were. One goroutine at a time may write.
func (c *Conn) TryWrite(p []byte) (n int, err error) {
	t := &c.trier
	if t.onTry == nil {
		t.onTry = c.tryStep
	}
	t.b, t.n, t.err = p, 0, nil
	err = c.raw.Write(t.onTry)
	n = t.n
	if err == nil {
		err = t.err
	}
	t.b, t.err = nil, nil
	return n, err
}

// tryStep never waits.
func (c *Conn) tryStep(fd uintptr) (done bool) {
	t := &c.trier
	for t.n < len(t.b) {
		n, err := ignoreEINTR(syscall.Write, int(fd), t.b[t.n:])
		if err == syscall.EAGAIN {
			return true
		}
		if err != nil {
			t.err = c.opError("write", err)
			return true
		}
		t.n += n
	}
	return true
}
