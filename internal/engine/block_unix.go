//go:build unix

package engine

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// initRaw sets c.raw if the connection is a socket. The connection can then wait for
// bytes without holding a buffer.
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

// readRaw reads into a workspace. Unless that is held, it is given back while the
// goroutine waits. The goroutine of the connection calls it.
func (c *blockConn) readRaw() error {
	if err := c.raw.Read(c.onRead); err != nil {
		return err
	}
	return c.err
}

// readable reads what the socket has. The runtime calls it before the goroutine waits,
// and each time it is woken. While the goroutine waits, it holds no workspace, except one
// that is held or that putAside leaves.
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
