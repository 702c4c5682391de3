//go:build unix

package engine

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// socketWriter writes to a socket, and waits only if the socket's buffer is full.
// Deadlines are set only for these waits. One goroutine at a time may use it. When write
// returns, a and b belong to the caller again.
type socketWriter struct {
	bounds  *writeBounds
	raw     syscall.RawConn
	onWrite func(fd uintptr) bool // writable
	a, b    []byte                // what is left to write
	err     error
	moved   bool
}

// maxWrite is the most that one system call may write.
const maxWrite = 1 << 30

// write writes a and then b.
func (s *socketWriter) write(a, b []byte) error {
	if err := s.bounds.begin(); err != nil {
		return err
	}
	if s.onWrite == nil {
		s.onWrite = s.writable // made once: a method value allocates
	}
	s.a, s.b, s.err, s.moved = a, b, nil, false
	err := s.raw.Write(s.onWrite)
	s.a, s.b = nil, nil
	if err == nil {
		err = s.err
	}
	return s.bounds.through(err)
}

// writable writes what the socket takes. It returns false if it must wait for room. The
// runtime calls it on the goroutine of write: once at the beginning, and each time that
// the socket may have room.
func (s *socketWriter) writable(fd uintptr) bool {
	for len(s.a)+len(s.b) > 0 {
		n, err := s.try(int(fd))
		switch {
		case n > 0:
			s.moved = true
			k := min(n, len(s.a))
			s.a, s.b = s.a[k:], s.b[n-k:]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			s.bounds.wait(s.moved, false)
			s.moved = false
			return false
		default:
			nc := s.bounds.c.nc
			s.err = &net.OpError{Op: "write", Net: nc.LocalAddr().Network(), Source: nc.LocalAddr(), Addr: nc.RemoteAddr(), Err: os.NewSyscallError("write", err)}
			return true
		}
	}
	return true
}

// try makes one system call.
func (s *socketWriter) try(fd int) (n int, err error) {
	switch {
	case len(s.a) == 0:
		return syscall.Write(fd, s.b[:min(len(s.b), maxWrite)])
	case len(s.b) == 0 || !haveWritev:
		return syscall.Write(fd, s.a[:min(len(s.a), maxWrite)])
	}
	return writev(fd, s.a, s.b[:min(len(s.b), maxWrite)])
}

// pacer is a socket under another connection, such as one of TLS. Block limits the time
// of its writes.
type pacer interface{ setBounds(b *writeBounds) }

// pacedTCP and pacedUnix are sockets for connections on top of them that can't go on
// writing after a timeout, such as those of TLS. A write to them goes on as long as the
// peer reads.
type (
	pacedTCP struct {
		*net.TCPConn
		w pacedWriter
	}
	pacedUnix struct {
		*net.UnixConn
		w pacedWriter
	}
)

// pacedWriter writes to a socket under another connection, which lets one write in at a
// time. Any goroutine may be the one that writes: a program may close a connection of TLS
// at any time, and that writes a closure alert (RFC 8446 section 6.1).
type pacedWriter struct {
	socketWriter
	now    atomic.Pointer[writeBounds] // nil while the engine doesn't have the connection
	closed atomic.Bool
}

func (p *pacedTCP) setBounds(b *writeBounds)  { p.w.now.Store(b) }
func (p *pacedUnix) setBounds(b *writeBounds) { p.w.now.Store(b) }

// Write writes b, within the bounds of the engine while it has the connection.
func (p *pacedTCP) Write(b []byte) (int, error) {
	if bounds := p.w.now.Load(); bounds != nil && !p.w.closed.Load() {
		return p.w.writeWithin(b, bounds)
	}
	return p.TCPConn.Write(b)
}

// Write writes b, within the bounds of the engine while it has the connection.
func (p *pacedUnix) Write(b []byte) (int, error) {
	if bounds := p.w.now.Load(); bounds != nil && !p.w.closed.Load() {
		return p.w.writeWithin(b, bounds)
	}
	return p.UnixConn.Write(b)
}

// Close closes the connection. Any goroutine may call it. Writes after it, such as the
// closure alert of TLS, are not limited by the engine.
func (p *pacedTCP) Close() error {
	p.w.closed.Store(true)
	return p.TCPConn.Close()
}

// Close is pacedTCP.Close.
func (p *pacedUnix) Close() error {
	p.w.closed.Store(true)
	return p.UnixConn.Close()
}

// writeWithin writes b within bounds, even if the engine gives the connection away
// meanwhile.
func (p *pacedWriter) writeWithin(b []byte, bounds *writeBounds) (int, error) {
	p.bounds = bounds
	if err := p.write(b, nil); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Pace wraps nc, on which the caller will put a connection of TLS, so that the engine can
// limit the time of its writes. It returns nc itself if that isn't a socket.
func Pace(nc net.Conn) net.Conn {
	switch nc := nc.(type) {
	case *net.TCPConn:
		if raw, err := nc.SyscallConn(); err == nil {
			return &pacedTCP{TCPConn: nc, w: pacedWriter{socketWriter: socketWriter{raw: raw}}}
		}
	case *net.UnixConn:
		if raw, err := nc.SyscallConn(); err == nil {
			return &pacedUnix{UnixConn: nc, w: pacedWriter{socketWriter: socketWriter{raw: raw}}}
		}
	}
	return nc
}

// pace limits the writes to a socket under the connection by bounds. The goroutine of the
// connection calls pace once, before Open.
func (c *blockConn) pace() {
	if t, ok := c.nc.(interface{ NetConn() net.Conn }); ok {
		if p, ok := t.NetConn().(pacer); ok {
			p.setBounds(&c.bounds)
			c.paced, c.wasPaced = p, true
		}
	}
}

// unpace ends these limits. A write that has begun still uses bounds, so after a pace
// forget does not put c into the pool.
func (c *blockConn) unpace() {
	if c.paced != nil {
		c.paced.setBounds(nil)
		c.paced = nil
	}
}

// writeRaw writes a and b to a socket.
func (c *blockConn) writeRaw(w *Work, a, b []byte) error {
	s := &w.sock
	s.bounds, s.raw = &c.bounds, c.raw
	err := s.write(a, b)
	s.bounds, s.raw = nil, nil
	if s.err != nil {
		s.err = nil
	}
	return err
}
