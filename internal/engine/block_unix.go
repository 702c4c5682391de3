//go:build unix

package engine

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// initRaw lets the connection be read from without a buffer in hand, if it is
// a socket.
func (c *blockConn) initRaw() {
	var err error
	switch nc := c.nc.(type) {
	case *net.TCPConn:
		c.raw, err = nc.SyscallConn()
	case *net.UnixConn:
		c.raw, err = nc.SyscallConn()
	}
	if err != nil {
		c.raw = nil
	}
}

// readRaw adds bytes to a workspace that is given back while the goroutine waits. The
// goroutine of the connection calls it.
func (c *blockConn) readRaw() error {
	if err := c.raw.Read(c.onRead); err != nil {
		return err
	}
	return c.err
}

// readable reads what the socket has. It runs before the goroutine is parked
// and each time it is woken; while it is parked, it holds no workspace.
func (c *blockConn) readable(fd uintptr) bool {
	w := c.work()
	for {
		room, elsewhere := c.into, len(c.into) > 0 && w.empty()
		if !elsewhere {
			room = w.room()
		}
		n, err := syscall.Read(int(fd), room)
		switch {
		case n > 0:
			w.took(n, len(room), elsewhere)
			w.Now = clock.Ticks()
			c.err = nil
			return true
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			if c.once {
				c.err = errWouldBlock
				return true
			}
			if !w.held {
				c.putAside()
			}
			return false
		case err == nil:
			c.err = io.EOF
			return true
		}
		c.err = &net.OpError{Op: "read", Net: c.nc.LocalAddr().Network(), Source: c.nc.LocalAddr(), Addr: c.nc.RemoteAddr(), Err: os.NewSyscallError("read", err)}
		return true
	}
}
