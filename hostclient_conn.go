package gale

import (
	"bufio"
	"io"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
)

// clientConn is a connection to a server, with what the pool knows about it. Between
// exchanges it holds no buffer.
type clientConn struct {
	conn     clientconn.Conn
	upstream string // the address that was dialed

	created, lastUse clock.Tick
	served           int       // exchanges that are complete
	isH2             bool      // it is about to become a sharedConn
	sender           *h1Sender // sends the body of the request, or nil
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

func (cc *clientConn) wasUsed() bool { return cc.served > 0 }

// isOld reports whether a connection was used for MaxConnDuration.
func (c *HostClient) isOld(cc *clientConn) bool {
	return c.MaxConnDuration > 0 && cc.age() > c.MaxConnDuration
}

// age returns how long ago the connection was made.
func (cc *clientConn) age() time.Duration { return time.Duration(clock.Ticks() - cc.created) }

// CreatedTime returns the time when the connection was made.
func (cc *clientConn) CreatedTime() time.Time { return cc.created.Time() }

// LastUseTime returns the time when the connection was last given back, or made if
// it never was.
func (cc *clientConn) LastUseTime() time.Time { return cc.lastUse.Time() }

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
