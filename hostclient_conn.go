package gale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// clientConn is a connection to a server, with what the pool knows about it. Between
// exchanges it holds no buffer.
type clientConn struct {
	conn     clientconn.Conn
	upstream string // the address that was dialed

	created, lastUse clock.Tick
	served           int         // exchanges that are complete
	c                *HostClient // whose pool has a place for it, or nil
	idle             bool        // it is in the pool
	isH2             bool        // it is about to become a sharedConn
	sender           *h1Sender   // sends the body of the request, or nil
}

// connHooks are those of all connections of clients.
var connHooks = clientconn.Hooks{Timeout: ErrTimeout, Close: closeCalmly}

func newClientConn(nc net.Conn, upstream string) *clientConn {
	now := clock.Ticks()
	cc := &clientConn{upstream: upstream, created: now, lastUse: now}
	cc.conn.Init(nc, &connHooks)
	return cc
}

// Conn returns the connection itself.
func (cc *clientConn) Conn() net.Conn { return cc.conn.NetConn() }

func (cc *clientConn) uses() int { return cc.served }

func (cc *clientConn) room() int {
	if cc.conn.Alive() {
		return 1
	}
	return 0
}

func (cc *clientConn) take(p *connPool) {
	cc.idle = false
	p.bufs.lend(&cc.conn)
}

func (cc *clientConn) giveBack(p *connPool) {
	cc.idle, cc.lastUse = true, p.now
	cc.conn.MarkIdle()
	p.bufs.takeBack(&cc.conn)
}

func (cc *clientConn) running() int {
	if cc.idle {
		return 0
	}
	return 1
}

func (cc *clientConn) idleSince() clock.Tick { return cc.lastUse }

// retire closes the connection, which carries no request.
func (cc *clientConn) retire() { cc.c.discard(cc) }

func (cc *clientConn) yield() bool {
	go cc.conn.Close() // the pool's lock is held
	return true
}

// isSuspect reports whether w may be dead after another wire has turned out to be.
func isSuspect(w wire) bool {
	cc, alone := w.(*clientConn)
	return alone && (!cc.conn.CanCheck() || !cc.conn.Alive())
}

// detects reports whether the request of k is sent in a way that detects by itself that w is dead.
func (k *call) detects(w wire) bool {
	cc, alone := w.(*clientConn)
	return k.quick && alone && cc.conn.CanSwap()
}

// discard closes a connection that a call has, and gives its place to others.
func (c *HostClient) discard(cc *clientConn) {
	defer c.unreserve() // even if Close ends the goroutine
	cc.conn.Close()
}

// spareBufs are buffers for connections in use. They replace a sync.Pool, because the lock of the
// pool, which guards them, is held anyway.
type spareBufs struct {
	bufs [8]*pool.Buf
	n    int
}

// lend gives conn a buffer if there is one.
func (s *spareBufs) lend(conn *clientconn.Conn) {
	if s.n > 0 {
		s.n--
		conn.LendBuffer(s.bufs[s.n])
		s.bufs[s.n] = nil
	}
}

// takeBack takes the buffer of conn.
func (s *spareBufs) takeBack(conn *clientconn.Conn) {
	if s.n == len(s.bufs) {
		conn.DropBuffer()
		return
	}
	if b := conn.TakeBuffer(); b != nil {
		s.bufs[s.n] = b
		s.n++
	}
}

// empty gives the buffers to package pool.
func (s *spareBufs) empty() {
	for s.n > 0 {
		s.n--
		pool.Put(s.bufs[s.n])
		s.bufs[s.n] = nil
	}
}

// age returns how long ago the connection was made.
func (cc *clientConn) age() time.Duration { return time.Duration(clock.Ticks() - cc.created) }

// CreatedTime returns the time when the connection was made.
func (cc *clientConn) CreatedTime() time.Time { return cc.created.Time() }

// LastUseTime returns the time when the connection was last given back, or made if
// it never was.
func (cc *clientConn) LastUseTime() time.Time { return cc.lastUse.Time() }

// AcquireConn returns a connection of the pool, for implementations of
// [RoundTripper]: an idle one, or a new one. It offers the server the protocols that
// TLSConfig has, and returns no connection of HTTP/2 that this package uses. If reqTimeout is positive, it limits
// the time that this takes. connectionClose says that the connection won't be
// reused; it has no effect here. Give the connection back with ReleaseConn, or with
// CloseConn if it can't be reused. It has no deadlines.
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (cc *clientConn, err error) {
	k := newCall(context.Background(), reqTimeout)
	k.kind, k.http1 = callRaw, true
	w, err := c.acquire(&k)
	if err != nil {
		return nil, err
	}
	cc = w.(*clientConn)
	if cc.conn.HasDeadlines() {
		if err = cc.clearDeadlines(); err != nil {
			c.discard(cc)
			return nil, err
		}
	}
	return cc, nil
}

// ReleaseConn gives back a connection that can be used for another request. The
// exchange must be complete and all its bytes must have been read. Deadlines that
// were set on it are cleared.
func (c *HostClient) ReleaseConn(cc *clientConn) {
	if cc.clearDeadlines() != nil {
		c.discard(cc)
		return
	}
	cc.served++
	c.release(cc)
}

// clearDeadlines clears the deadlines that are set. If a method of the user's
// connection panics, that is an error.
func (cc *clientConn) clearDeadlines() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gale: SetDeadline of a %T panicked: %v", cc.Conn(), r)
		}
	}()
	return cc.conn.ClearDeadlines()
}

// CloseConn closes a connection that AcquireConn returned.
func (c *HostClient) CloseConn(cc *clientConn) { c.discard(cc) }

// AcquireReader returns a buffered reader of conn with room for ReadBufferSize
// bytes, for implementations of [RoundTripper]. It belongs to the caller until
// [HostClient.ReleaseReader].
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
// bytes, for implementations of [RoundTripper]. It belongs to the caller until
// [HostClient.ReleaseWriter].
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
