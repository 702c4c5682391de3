package clientconn

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// ReadRoom is the initial size in bytes of a connection's read buffer.
const ReadRoom = 4 << 10

// ErrStale says that an idle connection could not be used, and that nothing was
// written to it.
var ErrStale = errors.New("gale: the idle connection was closed, or has sent something")

// Hooks are the parts of the calling package that connections need. They don't
// change.
type Hooks struct {
	// Timeout is the error of reading and writing when the deadline has come.
	Timeout error
	// Close closes a connection that user code may have made, and recovers a panic.
	Close func(io.Closer) error
}

// Conn is a connection to a server.
type Conn struct {
	nc    net.Conn
	hooks *Hooks

	// buf[r:] holds the bytes that were read but not used yet. A request is built
	// in buf too, before anything is read.
	buf *pool.Buf
	r   int

	vec  [2][]byte // the array that bufs is a slice of
	bufs net.Buffers

	read, write deadline
	// stirred is set by Stir and Break, and onStir is what the reader then calls. deaf says that the
	// last Stir could set no deadline. halted is set by HaltWrites.
	stirred, halted, deaf atomic.Bool
	onStir                func() error
	// lazy allows deadlines on nc that are too early; see deadline.
	lazy bool
	tls  bool

	raw     syscall.RawConn // of the socket, or nil if there is none
	probe   func(fd uintptr)
	healthy bool // the result of probe

	swapper
	trier
	readErr error // an error of Swap, which Fill returns

	onCancel func() // Cancel, made when it is first needed
	wasIdle  bool   // so Swap looks before it sends
	closed   atomic.Bool
}

// Init makes c, which must be new, a connection over nc.
func (c *Conn) Init(nc net.Conn, hooks *Hooks) {
	c.nc, c.hooks = nc, hooks
	socket := nc
	if tc, ok := nc.(*tls.Conn); ok {
		c.tls = true
		socket = tc.NetConn()
	}
	switch s := socket.(type) {
	case *net.TCPConn:
		c.lazy = true
		c.raw, _ = s.SyscallConn()
	case *net.UnixConn:
		c.lazy = true
		c.raw, _ = s.SyscallConn()
	}
}

// NetConn returns the connection itself.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Close closes the connection and gives its buffer back. Only its owner calls
// it; see Cancel.
func (c *Conn) Close() {
	if !c.closed.Swap(true) {
		_ = c.hooks.Close(c.nc)
	}
	c.DropBuffer()
}

// Cancel breaks off the connection and so wakes a goroutine that waits for it. It
// may be called at any time, by any goroutine.
func (c *Conn) Cancel() {
	if c.closed.Swap(true) {
		return
	}
	if tc, ok := c.nc.(*tls.Conn); ok {
		_ = c.hooks.Close(tc.NetConn()) // tls.Conn.Close waits for a running write
		return
	}
	_ = c.hooks.Close(c.nc)
}

// Canceller returns Cancel as a function.
func (c *Conn) Canceller() func() {
	if c.onCancel == nil {
		c.onCancel = c.Cancel
	}
	return c.onCancel
}

// Closed reports whether Close or Cancel was called. Any goroutine may call it.
func (c *Conn) Closed() bool { return c.closed.Load() }

// MarkIdle says that an exchange is complete. From then on Swap checks the
// connection before it sends a request.
func (c *Conn) MarkIdle() { c.wasIdle = true }

// Buffer returns the buffer; a new one has room for at least size bytes. The caller
// builds a request in it before anything of the exchange was read; TakeBuffer or
// DropBuffer must have been called after the last exchange. The buffer is valid
// until the next read from the connection.
func (c *Conn) Buffer(size int) *pool.Buf {
	if c.buf == nil {
		c.buf = pool.Get(size)
	}
	return c.buf
}

// LendBuffer gives an idle connection an empty buffer for its next exchange.
func (c *Conn) LendBuffer(b *pool.Buf) { c.buf = b }

// TakeBuffer removes the buffer from an idle connection, empties it and returns it.
// It returns nil if there is no buffer that is worth keeping.
func (c *Conn) TakeBuffer() *pool.Buf {
	b := c.buf
	if b == nil || cap(b.B) > ReadRoom {
		c.DropBuffer()
		return nil
	}
	b.B = b.B[:0]
	c.buf, c.r = nil, 0
	return b
}

// DropBuffer gives the buffer back to its pool. Unread bytes in it are lost.
func (c *Conn) DropBuffer() {
	pool.Put(c.buf)
	c.buf, c.r = nil, 0
}

// deadline is the time at which reading or writing must end. Setting a deadline on
// a socket takes as long as parsing a head, so an earlier deadline that is already
// set isn't replaced. When that one has passed, the clock is read and the right
// deadline is set.
type deadline struct {
	want clock.Tick // 0 for none
	set  clock.Tick // on the connection
}

// covered reports whether no deadline needs to be set.
func (d *deadline) covered(lazy bool) bool {
	return d.want == d.set || lazy && d.set != 0 && (d.want == 0 || d.set < d.want)
}

// due reports whether the deadline has come.
func (d *deadline) due() bool { return d.want != 0 && clock.Ticks() >= d.want }

// BoundReads makes reads fail with Hooks.Timeout at t; 0 means never.
func (c *Conn) BoundReads(t clock.Tick) { c.read.want = t }

// BoundWrites makes writes fail with Hooks.Timeout at t; 0 means never.
func (c *Conn) BoundWrites(t clock.Tick) { c.write.want = t }

// HasDeadlines reports whether a deadline is set on the connection.
func (c *Conn) HasDeadlines() bool { return c.read.set != 0 || c.write.set != 0 }

// ClearDeadlines clears all deadlines, including those that a user has set.
func (c *Conn) ClearDeadlines() error {
	c.read, c.write = deadline{}, deadline{}
	return c.nc.SetDeadline(time.Time{})
}

func (c *Conn) setReadDeadline() error {
	c.read.set = c.read.want
	return c.nc.SetReadDeadline(c.read.want.Time())
}

func (c *Conn) setWriteDeadline() error {
	c.write.set = c.write.want
	return c.nc.SetWriteDeadline(c.write.want.Time())
}
