package galeutil

import (
	"net"
	"time"
)

// PipeConns is a connection in memory, with both ends.
//
//   - Writes are buffered. A write doesn't block while less than 64 KiB are unread, or if
//     it is one of the first four since no bytes were unread, whatever its size.
//   - Read and write deadlines work as for TCP connections, except that bytes
//     that have arrived are read even after the deadline.
//   - Both ends have a CloseWrite method, like TCP connections.
//
// NewPipeConns makes one. All methods except SetAddresses, and all methods of the ends,
// may be called from several goroutines. fasthttputil allows no concurrent use of the
// methods.
type PipeConns struct {
	c1, c2 conn
	p1, p2 pipe // the bytes for c1 and c2 to read
}

// NewPipeConns returns a new connection.
func NewPipeConns() *PipeConns {
	pc := new(PipeConns)
	pc.p1.init()
	pc.p2.init()
	pc.c1 = conn{in: &pc.p1, out: &pc.p2}
	pc.c2 = conn{in: &pc.p2, out: &pc.p1}
	return pc
}

// Conn1 returns the first end: it reads what is written to the second one.
func (pc *PipeConns) Conn1() net.Conn { return &pc.c1 }

// Conn2 returns the second end: it reads what is written to the first one.
func (pc *PipeConns) Conn2() net.Conn { return &pc.c2 }

// Close closes both ends. It returns nil.
func (pc *PipeConns) Close() error {
	pc.c1.Close()
	return pc.c2.Close()
}

// SetAddresses sets what LocalAddr and RemoteAddr of the ends return. If an address is
// nil, they return one whose network and text are "pipe". It must be called before the
// ends are used.
func (pc *PipeConns) SetAddresses(localAddr1, remoteAddr1, localAddr2, remoteAddr2 net.Addr) {
	pc.c1.local, pc.c1.remote = localAddr1, remoteAddr1
	pc.c2.local, pc.c2.remote = localAddr2, remoteAddr2
}

// conn is one end of a PipeConns.
type conn struct {
	in, out       *pipe
	local, remote net.Addr
}

// Read waits until there are bytes, one of the ends is closed (io.EOF) or the deadline
// passes (ErrTimeout). After this end is closed, it returns the bytes that had arrived
// and then io.EOF, as in fasthttputil.
func (c *conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write copies all of b, or it copies nothing and returns ErrConnectionClosed or
// ErrTimeout. It waits while too many bytes are unread; see PipeConns.
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Buffered returns how many bytes can be read without waiting.
func (c *conn) Buffered() int { return c.in.buffered() }

// Unread returns how many bytes that were written to this end the other end has not read.
func (c *conn) Unread() int { return c.out.buffered() }

// Close closes this end. After that neither end can write. The other end can read what
// was written before and then gets io.EOF. Close returns nil.
func (c *conn) Close() error {
	c.out.end()
	c.in.close()
	return nil
}

// CloseWrite closes the writing side of this end. The other end reads what was written
// and then io.EOF, and can still write. CloseWrite returns ErrConnectionClosed if the
// writing side was already closed.
func (c *conn) CloseWrite() error {
	if !c.out.end() {
		return ErrConnectionClosed
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return orPipe(c.local) }
func (c *conn) RemoteAddr() net.Addr { return orPipe(c.remote) }

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *conn) SetDeadline(t time.Time) error {
	err := c.in.readBy.set(t)
	_ = c.out.writeBy.set(t) // an error is ignored: the writing side is already closed
	return err
}

// SetReadDeadline sets the time when Read stops waiting, also for Reads that already
// wait. The zero time means never. It returns ErrConnectionClosed if this end is closed.
func (c *conn) SetReadDeadline(t time.Time) error { return c.in.readBy.set(t) }

// SetWriteDeadline sets the time when Write fails, also for Writes that already wait. The
// zero time means never. It returns ErrConnectionClosed if this end is closed or
// half-closed.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.writeBy.set(t) }

func orPipe(a net.Addr) net.Addr {
	if a == nil {
		return pipeAddr{}
	}
	return a
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
