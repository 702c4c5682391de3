package gale

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/pool"
)

// readRoom is how much room a connection has for what it reads, in bytes, to
// begin with; maxReadRoom is how large it becomes for bodies.
const (
	readRoom    = 4 << 10
	maxReadRoom = 64 << 10
)

// clientConn is a connection to a server. Between exchanges it holds no buffer.
type clientConn struct {
	c        net.Conn
	upstream string // the address that was dialed

	// buf holds what was read and not used yet, from r on. A request is put
	// together in it too, before there is anything to read.
	buf *pool.Buf
	r   int

	vec  [2][]byte // what bufs is made of
	bufs net.Buffers

	// read and write are the deadlines.
	read, write connDeadline
	// lazy allows deadlines on c that are earlier than they should be; see
	// connDeadline.
	lazy bool
	tls  bool

	raw     syscall.RawConn // of the socket, nil if there is none
	probe   func(fd uintptr)
	healthy bool // what probe found

	swapper
	late error // of reading, which fill returns

	created, lastUse clock.Tick
	served           int  // exchanges that are complete
	pooled           bool // it was given back to the pool before

	onCancel func() // cancel, made when it is first needed
	closed   atomic.Bool
}

// connDeadline is when reading or writing has to end. To set a deadline on a
// socket takes as long as parsing a head does, so one that is set already and
// earlier will do: whoever it wakes looks at the clock and sets the right one.
type connDeadline struct {
	want clock.Tick // 0 for none
	set  clock.Tick // on the connection
}

// covered reports whether nothing needs to be set.
func (d *connDeadline) covered(lazy bool) bool {
	return d.want == d.set || lazy && d.set != 0 && (d.want == 0 || d.set < d.want)
}

// due reports whether the deadline has come.
func (d *connDeadline) due() bool { return d.want != 0 && clock.Ticks() >= d.want }

func newClientConn(nc net.Conn, upstream string) *clientConn {
	now := clock.Ticks()
	cc := &clientConn{c: nc, upstream: upstream, created: now, lastUse: now}
	socket := nc
	if tc, ok := nc.(*tls.Conn); ok {
		cc.tls = true
		socket = tc.NetConn()
	}
	switch s := socket.(type) {
	case *net.TCPConn:
		cc.lazy = true
		cc.raw, _ = s.SyscallConn()
	case *net.UnixConn:
		cc.lazy = true
		cc.raw, _ = s.SyscallConn()
	}
	return cc
}

// Conn returns the connection itself.
func (cc *clientConn) Conn() net.Conn { return cc.c }

// CreatedTime returns when the connection was made.
func (cc *clientConn) CreatedTime() time.Time { return cc.created.Time() }

// LastUseTime returns when the connection was given back last, or made.
func (cc *clientConn) LastUseTime() time.Time { return cc.lastUse.Time() }

// close closes the connection and gives its buffer back. Only its owner calls
// it; see cancel.
func (cc *clientConn) close() {
	if !cc.closed.Swap(true) {
		_ = cc.c.Close()
	}
	cc.dropBuffer()
}

// cancel breaks the connection off, so that whoever waits for it is woken. It
// may be called at any time, by anybody.
func (cc *clientConn) cancel() {
	if cc.closed.Swap(true) {
		return
	}
	if tc, ok := cc.c.(*tls.Conn); ok {
		_ = tc.NetConn().Close() // tls.Conn.Close waits for what is being written
		return
	}
	_ = cc.c.Close()
}

func (cc *clientConn) dropBuffer() {
	pool.Put(cc.buf)
	cc.buf, cc.r = nil, 0
}

// unread returns the bytes that were read and not used yet.
func (cc *clientConn) unread() []byte {
	if cc.buf == nil {
		return nil
	}
	return cc.buf.B[cc.r:]
}

// fill reads more bytes behind those that are unread.
func (cc *clientConn) fill() error {
	if cc.late != nil {
		return cc.late
	}
	b := cc.buf
	if b == nil {
		b = pool.Get(readRoom)
		cc.buf = b
	}
	switch {
	case cc.r == len(b.B):
		b.B, cc.r = b.B[:0], 0
	case len(b.B) == cap(b.B) && cc.r > 0:
		b.B = b.B[:copy(b.B, b.B[cc.r:])]
		cc.r = 0
	}
	if len(b.B) == cap(b.B) {
		b.Grow(1)
	}
	n, err := cc.readSome(b.B[len(b.B):cap(b.B)])
	b.B = b.B[:len(b.B)+n]
	return err
}

// readSome reads at least one byte, or fails.
func (cc *clientConn) readSome(p []byte) (int, error) {
	for range maxEmptyReads {
		if !cc.read.covered(cc.lazy) {
			if err := cc.setReadDeadline(); err != nil {
				return 0, err
			}
		}
		n, err := cc.c.Read(p)
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if !isTimeout(err) {
			return 0, err
		}
		// A socket that has failed with ETIMEDOUT would show its end next, as if
		// the server had closed it.
		if cc.read.want == cc.read.set || cc.read.due() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, ErrTimeout
		}
		cc.read.set = 0 // it came too early
		if cc.read.want == 0 {
			if err := cc.setReadDeadline(); err != nil {
				return 0, err
			}
		}
	}
	return 0, io.ErrNoProgress
}

// silent reports whether TLS has nothing to be read: it may have taken more
// records off the socket than it was asked for. It doesn't wait.
func (cc *clientConn) silent() bool {
	var b [1]byte
	if cc.c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	n, err := cc.c.Read(b[:])
	cc.read.set = 0
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && cc.c.SetReadDeadline(time.Time{}) == nil
}

// readBodyPart reads into p, at least one byte or fails. left is how much is
// missing of the body, and len(p) not more. Where alive can't look at what
// follows, the end of the body comes through the buffer: what is read along with
// it stays there to be noticed, and isn't taken for the next response.
func (cc *clientConn) readBodyPart(p []byte, left int64) (int, error) {
	if cc.canCheck() {
		return cc.readSome(p)
	}
	if left >= readRoom {
		return cc.readSome(p[:min(int64(len(p)), left-1)])
	}
	if len(cc.unread()) == 0 {
		if err := cc.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, cc.unread())
	cc.r += n
	return n, nil
}

func (cc *clientConn) setReadDeadline() error {
	cc.read.set = cc.read.want
	return cc.c.SetReadDeadline(cc.read.want.Time())
}

// Write writes all of p; n is what of it was written. It makes cc an io.Writer
// that minds the deadline.
func (cc *clientConn) Write(p []byte) (n int, err error) {
	for {
		// A write of TLS that times out can't be taken up again.
		if !cc.write.covered(cc.lazy && !cc.tls) {
			if err := cc.setWriteDeadline(); err != nil {
				return n, err
			}
		}
		m, err := cc.c.Write(p[n:])
		n += m
		switch {
		case err == nil && n == len(p):
			return n, nil
		case err == nil:
			return n, io.ErrShortWrite
		case !isTimeout(err):
			return n, err
		case cc.write.want == cc.write.set || cc.write.due():
			return n, ErrTimeout
		}
		if err := cc.setWriteDeadline(); err != nil {
			return n, err
		}
	}
}

func (cc *clientConn) setWriteDeadline() error {
	cc.write.set = cc.write.want
	return cc.c.SetWriteDeadline(cc.write.want.Time())
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || engine.IsTimeout(err)
}

// AcquireReader returns a buffered reader of conn with room for ReadBufferSize
// bytes, for implementations of [RoundTripper]. It is given back with
// ReleaseReader.
func (c *HostClient) AcquireReader(conn net.Conn) *bufio.Reader {
	if v := c.readers.Get(); v != nil {
		br := v.(*bufio.Reader)
		br.Reset(conn)
		return br
	}
	return bufio.NewReaderSize(conn, orDefault(c.ReadBufferSize, 4096))
}

// ReleaseReader gives back what AcquireReader returned.
func (c *HostClient) ReleaseReader(br *bufio.Reader) {
	br.Reset(nil)
	c.readers.Put(br)
}

// AcquireWriter returns a buffered writer to conn with room for WriteBufferSize
// bytes, for implementations of [RoundTripper]. It is given back with
// ReleaseWriter.
func (c *HostClient) AcquireWriter(conn net.Conn) *bufio.Writer { return c.acquireWriter(conn) }

func (c *HostClient) acquireWriter(w io.Writer) *bufio.Writer {
	if v := c.writers.Get(); v != nil {
		bw := v.(*bufio.Writer)
		bw.Reset(w)
		return bw
	}
	return bufio.NewWriterSize(w, orDefault(c.WriteBufferSize, 4096))
}

// ReleaseWriter gives back what AcquireWriter returned.
func (c *HostClient) ReleaseWriter(bw *bufio.Writer) {
	bw.Reset(nil)
	c.writers.Put(bw)
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}
