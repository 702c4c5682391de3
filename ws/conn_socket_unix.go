//go:build unix

package ws

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// How a Conn uses a socket: it waits without a buffer, and can write without waiting.

// initRaw sets raw if the connection is a socket.
func (c *Conn) initRaw() {
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
	if c.raw != nil {
		c.in.onRead = c.readable // made once: a method value allocates
	}
}

// readable reads what the socket has. The runtime calls it on the goroutine of fill: once
// at the beginning, and each time that there may be bytes.
func (c *Conn) readable(fd uintptr) bool {
	in := &c.in
	for {
		room := in.into
		if len(room) == 0 {
			room = in.room(readSize)
		}
		n, err := syscall.Read(int(fd), room)
		switch {
		case n > 0:
			in.took(n)
			return true
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			in.rest()
			in.err = c.mayWait(false)
			in.stop = in.err != nil
			return in.stop
		case err == nil:
			in.err = io.EOF
			return true
		}
		in.err = c.opError("read", err)
		return true
	}
}

// writable writes what the socket takes. The runtime calls it on the goroutine of writeRaw.
func (o *connOutput) writable(fd uintptr) bool {
	for len(o.a) > 0 || len(o.b) > 0 {
		p := &o.a
		if len(o.a) == 0 {
			p = &o.b
		}
		n, err := syscall.Write(int(fd), (*p)[:min(len(*p), maxWrite)])
		switch {
		case n > 0:
			o.wrote += n
			o.moved = true
			if o.full {
				o.full = false
				o.c.taken(clock.Ticks())
			}
			*p = (*p)[n:]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if o.once {
				return true
			}
			o.stop = o.c.mayWaitToWrite(false)
			return o.stop != nil
		default:
			o.err = o.c.opError("write", err)
			return true
		}
	}
	return true
}

// maxWrite is the most that one system call may write.
const maxWrite = 1 << 30

func (c *Conn) opError(op string, err error) error {
	local := c.nc.LocalAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: c.nc.RemoteAddr(), Err: os.NewSyscallError(op, err)}
}
