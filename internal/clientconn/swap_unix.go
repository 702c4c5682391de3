//go:build unix

package clientconn

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/engine"
)

// swapper sends a request over a socket and waits for the first bytes of the
// response. It needs three system calls, and one of them checks the connection: the
// read that usually finds nothing after the request was written is done before the
// write. If that read finds the end of the connection or any bytes, the connection
// can't be used, and nothing was sent over it. A new connection isn't checked:
// bytes on it are the response.
type swapper struct {
	onReady func(fd uintptr) bool // swapStep, made when it is first needed
	wrote   int                   // bytes of the request
	asked   bool                  // the connection was checked, and the request written
	n       int                   // bytes of the response
	err     error
}

// CanSwap reports whether Swap can be used on the connection.
func (c *Conn) CanSwap() bool { return c.raw != nil && !c.tls }

// Swap writes the contents of Buffer, and replaces them with the first bytes of the
// response. n is how many bytes were written; if that isn't all and there is no
// error, the caller writes the rest with Write. The error is that of the write, or
// ErrStale if nothing was written. Fill returns an error of the read.
func (c *Conn) Swap() (n int, err error) {
	s := &c.swapper
	if s.onReady == nil {
		s.onReady = c.swapStep
	}
	*s = swapper{onReady: s.onReady}
	for {
		if !c.read.covered(c.lazy) {
			if s.err = c.setReadDeadline(); s.err != nil {
				break
			}
		}
		err := c.raw.Read(s.onReady)
		if err == nil {
			break
		}
		if !engine.IsTimeout(err) {
			s.err = err
			break
		}
		if c.read.want == c.read.set || c.read.due() {
			s.err = c.hooks.Timeout
			break
		}
		c.read.set = 0 // the deadline was too early
		if s.err = c.setReadDeadline(); s.err != nil {
			break
		}
	}
	all := len(c.buf.B)
	c.buf.B = c.buf.B[:max(s.n, 0)]
	if s.wrote == all {
		c.readErr = s.err
		return s.wrote, nil
	}
	return s.wrote, s.err
}

// swapStep runs at once, and then whenever the socket may have become readable.
func (c *Conn) swapStep(fd uintptr) (done bool) {
	s, b := &c.swapper, c.buf
	if !s.asked {
		s.asked = true
		if c.wasIdle {
			var probe [1]byte
			if _, err := ignoreEINTR(syscall.Read, int(fd), probe[:]); err != syscall.EAGAIN {
				s.err = ErrStale
				return true
			}
		}
		n, err := ignoreEINTR(syscall.Write, int(fd), b.B)
		s.wrote = max(n, 0)
		if err != nil && err != syscall.EAGAIN {
			s.err = c.opError("write", err)
			return true
		}
		if c.wasIdle || s.wrote < len(b.B) {
			return s.wrote < len(b.B)
		}
	}
	n, err := ignoreEINTR(syscall.Read, int(fd), b.B[:cap(b.B)])
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		s.err = c.opError("read", err)
	case n == 0:
		s.err = io.EOF
	default:
		s.n = n
	}
	return true
}

func ignoreEINTR(f func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := f(fd, p)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: c.nc.LocalAddr().Network(), Source: c.nc.LocalAddr(), Addr: c.nc.RemoteAddr(), Err: os.NewSyscallError(op, err)}
}
