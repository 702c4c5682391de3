package engine

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// eventSocket is an eventConn as a net.Conn, the one that handlers and hooks get. Its
// Read and Write block the goroutine that owns the connection, and only that goroutine
// may call them. Any goroutine may call the other methods at any time: they use atomics,
// or the descriptor through control. After the connection was hijacked, Read, Write,
// Close, CloseWrite, SyscallConn and the deadlines use the connection of package net that
// replaced it.
type eventSocket eventConn

// rawAddr is an address without pointers.
type rawAddr struct {
	ip   [16]byte
	zone uint32
	port uint16
	kind addrKind
}

type addrKind uint8

const (
	addrUnix addrKind = iota
	addrIP4
	addrIP6
)

// netAddr returns the address as package net has it. It allocates.
func (a *rawAddr) netAddr() net.Addr {
	switch a.kind {
	case addrIP4:
		return &net.TCPAddr{IP: net.IP(append([]byte(nil), a.ip[:4]...)), Port: int(a.port)}
	case addrIP6:
		t := &net.TCPAddr{IP: net.IP(append([]byte(nil), a.ip[:]...)), Port: int(a.port)}
		if a.zone != 0 {
			t.Zone = zoneName(a.zone)
		}
		return t
	}
	return &net.UnixAddr{Name: "@", Net: "unix"}
}

// zoneName returns the name of an interface.
func zoneName(index uint32) string {
	if i, err := net.InterfaceByIndex(int(index)); err == nil {
		return i.Name
	}
	return strconv.Itoa(int(index))
}

func (c *eventConn) network() string {
	if c.addr.kind == addrUnix {
		return "unix"
	}
	return "tcp"
}

// RemoteIP returns the peer's address. It is the zero Addr if the peer has none.
func (c *eventSocket) RemoteIP() netip.Addr {
	switch a := &c.addr; a.kind {
	case addrIP4:
		return netip.AddrFrom4([4]byte(a.ip[:4]))
	case addrIP6:
		return netip.AddrFrom16(a.ip).Unmap()
	}
	return netip.Addr{}
}

// PeerOf returns the address of c.RemoteAddr without allocating. For connections that
// can't do that it returns an AddrPort that is not valid.
func PeerOf(c net.Conn) netip.AddrPort {
	s, ok := c.(*eventSocket)
	if !ok || s.addr.kind == addrUnix || s.addr.zone != 0 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(s.RemoteIP(), s.addr.port)
}

func (c *eventSocket) conn() *eventConn { return (*eventConn)(c) }

// hijacked returns the connection that has replaced this one, nil if none has.
func (c *eventSocket) hijacked() net.Conn {
	if m := c.more.Load(); m != nil {
		if nc := m.hijacked.Load(); nc != nil {
			return *nc
		}
	}
	return nil
}

// RemoteAddr returns the address of the peer, also after the connection was closed.
func (c *eventSocket) RemoteAddr() net.Addr { return c.conn().RemoteAddr() }

// LocalAddr returns our address, also after the connection was closed.
func (c *eventSocket) LocalAddr() net.Addr { return c.conn().LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *eventConn) RemoteAddr() net.Addr { return c.addr.netAddr() }

// LocalAddr returns our address. It is that of the listener, if the listener has only
// one.
func (c *eventConn) LocalAddr() net.Addr {
	if c.from.local != nil {
		return c.from.local
	}
	if m := c.more.Load(); m != nil {
		if a := m.local.Load(); a != nil {
			return a.netAddr()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.extra()
	if a := m.local.Load(); a != nil {
		return a.netAddr()
	}
	if c.fd < 0 {
		return c.from.addr
	}
	a, err := c.from.sys.localAddr(c.fd)
	if err != nil {
		return c.from.addr
	}
	m.local.Store(&a)
	return a.netAddr()
}

// Read reads from the connection. Only the goroutine that runs the session may call it.
func (c *eventSocket) Read(p []byte) (int, error) {
	if nc := c.hijacked(); nc != nil {
		return nc.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	ec := c.conn()
	for {
		if ec.layered && ec.more.Load().dry {
			return 0, errAgain
		}
		n, err := ec.readSocket(p)
		if n > 0 || err != errWouldBlock {
			return n, err
		}
		if ec.layered {
			return 0, errAgain
		}
		if err := ec.waitFor(evIn|evHup|evReset, ec.userReads(ec.extra())); err != nil {
			return 0, err
		}
	}
}

// Write writes to the connection. Only the goroutine that runs the session may call it.
// Other goroutines may write through a connection on top, as much as there is room for:
// Close of TLS writes a closure alert (RFC 8446 section 6.1), and a program may call it
// on any goroutine.
func (c *eventSocket) Write(p []byte) (n int, err error) {
	if nc := c.hijacked(); nc != nil {
		return nc.Write(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.layered {
		if n, err = c.writeSome(p); err != nil || n == len(p) {
			return n, err
		}
	}
	if err := c.conn().writeSocket(p[n:]); err != nil {
		return n, err
	}
	return len(p), nil
}

// writeSome writes what there is room for. It uses control, which keeps the descriptor
// open: its number can't become that of another connection.
func (c *eventSocket) writeSome(p []byte) (n int, err error) {
	ec := c.conn()
	if err := ec.mayWrite(); err != nil {
		return 0, err
	}
	err = c.control(func(fd int32) error {
		var errno syscall.Errno
		if n, errno = ec.l.sys.write(fd, p); n < 0 {
			n = 0
			if errno != syscall.EAGAIN && errno != syscall.EINTR {
				return ec.opError("write", errno)
			}
		}
		return nil
	})
	if err != nil {
		ec.set(evCut) // as writeSocket does
	}
	return n, err
}

// Close closes the connection at once. The descriptor stays open until the owner ends the
// connection.
func (c *eventSocket) Close() error {
	if nc := c.hijacked(); nc != nil {
		return nc.Close()
	}
	c.conn().kill()
	return nil
}

// CloseWrite ends our side of the connection, which is then half-closed (RFC 9293 section
// 3.6.1).
func (c *eventSocket) CloseWrite() error {
	if cw, ok := c.hijacked().(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.control(func(fd int32) error { return c.from.sys.shutdown(fd, syscall.SHUT_WR) })
}

// SetLinger does what SetLinger of net.TCPConn does.
func (c *eventSocket) SetLinger(sec int) error {
	return c.control(func(fd int32) error { return c.from.sys.setLinger(fd, sec) })
}

// control calls f with the descriptor, which stays open until f returns. No lock is held
// while f runs, so f may use the connection.
func (c *eventSocket) control(f func(fd int32) error) error {
	m := c.conn().extra()
	c.mu.Lock()
	fd := c.fd
	if fd < 0 {
		c.mu.Unlock()
		return net.ErrClosed
	}
	m.fdUse.users++
	c.mu.Unlock()
	defer c.conn().letFdGo(m)
	return f(fd)
}

// letFdGo ends a use of the descriptor. The last one closes it if the connection was
// closed meanwhile. control calls it, without mu.
func (c *eventConn) letFdGo(m *connMore) {
	fd := int32(-1)
	c.mu.Lock()
	if m.fdUse.users--; m.fdUse.users == 0 && m.fdUse.closes {
		fd, m.fdUse.closes = m.fdUse.toClose, false
	}
	c.mu.Unlock()
	if fd >= 0 {
		c.l.sys.close(fd)
	}
}

// SetDeadline sets both deadlines.
func (c *eventSocket) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the deadline for reads from the connection, including one that
// already waits, for the message in flight: see Conn.Lend. It looks for the connection that
// replaced this one after it has set the deadline here: if another goroutine hijacks the
// connection meanwhile, the new one gets the deadline.
func (c *eventSocket) SetReadDeadline(t time.Time) error {
	c.conn().extra().readUntil.Store(int64(clock.TickOf(t)))
	c.conn().nudge()
	if nc := c.hijacked(); nc != nil {
		return nc.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline sets the deadline for writes to the connection, including one that
// already waits, for the message in flight: see Conn.Lend. It looks for a new connection as
// SetReadDeadline does. Output that waits after the session has returned, see LeaveBody, keeps
// the deadline that it had then: the program must set it before.
func (c *eventSocket) SetWriteDeadline(t time.Time) error {
	c.conn().extra().writeUntil.Store(int64(clock.TickOf(t)))
	c.conn().nudge()
	if nc := c.hijacked(); nc != nil {
		return nc.SetWriteDeadline(t)
	}
	return nil
}

// SyscallConn returns a RawConn for setting and reading options of the socket.
func (c *eventSocket) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.hijacked().(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return (*eventRaw)(c), nil
}

// eventRaw is an eventConn as a syscall.RawConn.
type eventRaw eventConn

// Control calls f with the descriptor. f may call the connection's methods.
func (c *eventRaw) Control(f func(fd uintptr)) error {
	return (*eventSocket)(c).control(func(fd int32) error { f(uintptr(fd)); return nil })
}

// Read is not supported: the engine reads.
func (c *eventRaw) Read(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Write is not supported: the engine writes.
func (c *eventRaw) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }
