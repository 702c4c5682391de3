//go:build unix

package gale

import (
	"io"
	"net"
	"os"
	"syscall"
)

// swapper sends a request over a socket and waits for the first bytes of the
// answer. That takes three system calls, and one of them looks at the
// connection beforehand: the read that finds nothing yet is done before the request
// is written, and not after it as usual. Whatever it finds instead, an end or
// bytes, means that the connection is of no use, and nothing was sent over it. A
// new connection isn't looked at: what is wrong with it is the answer.
type swapper struct {
	onReady func(fd uintptr) bool // step, made when it is first needed
	wrote   int                   // bytes of the request
	asked   bool                  // the connection was looked at, and the request written
	n       int                   // bytes of the answer
	err     error
}

// canSwap reports whether swap can be used on the connection.
func (cc *clientConn) canSwap() bool { return cc.raw != nil && !cc.tls }

// swap writes what is in the buffer, and replaces it by the first bytes of the
// answer. n is how much was written; if that isn't all, the rest is to be written in
// another way unless there is an error. The error is that of writing, or
// errStale, with which nothing was written; one of reading is left to fill.
func (cc *clientConn) swap() (n int, err error) {
	s := &cc.swapper
	if s.onReady == nil {
		s.onReady = cc.swapStep
	}
	*s = swapper{onReady: s.onReady}
	for {
		if !cc.read.covered(cc.lazy) {
			if s.err = cc.setReadDeadline(); s.err != nil {
				break
			}
		}
		err := cc.raw.Read(s.onReady)
		if err == nil {
			break
		}
		if !isTimeout(err) {
			s.err = err
			break
		}
		if cc.read.want == cc.read.set || cc.read.due() {
			s.err = ErrTimeout
			break
		}
		cc.read.set = 0 // it came too early
		if s.err = cc.setReadDeadline(); s.err != nil {
			break
		}
	}
	all := len(cc.buf.B)
	cc.buf.B = cc.buf.B[:max(s.n, 0)]
	if s.wrote == all {
		cc.late = s.err
		return s.wrote, nil
	}
	return s.wrote, s.err
}

// swapStep runs at once, and then whenever the socket may have become readable.
func (cc *clientConn) swapStep(fd uintptr) (done bool) {
	s, b := &cc.swapper, cc.buf
	if !s.asked {
		s.asked = true
		if cc.pooled {
			var probe [1]byte
			if _, err := ignoreEINTR(syscall.Read, int(fd), probe[:]); err != syscall.EAGAIN {
				s.err = errStale
				return true
			}
		}
		n, err := ignoreEINTR(syscall.Write, int(fd), b.B)
		s.wrote = max(n, 0)
		if err != nil && err != syscall.EAGAIN {
			s.err = cc.opError("write", err)
			return true
		}
		if cc.pooled || s.wrote < len(b.B) {
			return s.wrote < len(b.B)
		}
	}
	n, err := ignoreEINTR(syscall.Read, int(fd), b.B[:cap(b.B)])
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		s.err = cc.opError("read", err)
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

func (cc *clientConn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: cc.c.LocalAddr().Network(), Source: cc.c.LocalAddr(), Addr: cc.c.RemoteAddr(), Err: os.NewSyscallError(op, err)}
}
