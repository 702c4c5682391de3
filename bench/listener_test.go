package bench

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener hands out connections of clients that live in memory. No more than
// its number of clients are connected at a time; a client connects again when
// the server has closed, until all requests were sent.
type listener struct {
	idle    chan *conn
	left    int // requests that no connection has taken yet; Accept's
	perConn int

	served sync.WaitGroup // one per connection that was handed out
	read   atomic.Int64   // requests that the server has read
	wrote  atomic.Int64   // bytes of all answers
}

// newListener makes clients that send total requests, perConn on each
// connection. With pipeline a client sends without waiting for answers: a Read
// gets as many requests as fit; else it gets one.
func newListener(clients, total, perConn int, request string, pipeline bool) *listener {
	clients = min(clients, (total+perConn-1)/perConn)
	l := &listener{idle: make(chan *conn, clients), left: total, perConn: perConn}
	for range clients {
		l.idle <- &conn{l: l, request: request, pipeline: pipeline}
	}
	return l
}

// Accept is called by one goroutine.
func (l *listener) Accept() (net.Conn, error) {
	if l.left == 0 {
		l.served.Wait()
		return nil, io.EOF
	}
	c := <-l.idle
	n := min(l.left, l.perConn)
	l.left -= n
	l.served.Add(1)
	c.left, c.pos, c.wrote, c.reads = n, 0, 0, 0
	c.closed.Store(false)
	return c, nil
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return serverAddr }

var (
	serverAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	clientAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}
)

// conn is one client's connection, as the server sees it.
type conn struct {
	l        *listener
	request  string
	pipeline bool

	left   int // requests to be read, the one begun included
	pos    int // in the request begun
	reads  int // requests read whole
	wrote  int
	closed atomic.Bool
}

func (c *conn) Read(b []byte) (n int, err error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	for c.left > 0 && n < len(b) {
		k := copy(b[n:], c.request[c.pos:])
		n += k
		if c.pos += k; c.pos == len(c.request) {
			c.pos = 0
			c.left--
			c.reads++
			if !c.pipeline {
				break
			}
		}
	}
	return n, nil
}

func (c *conn) Write(b []byte) (int, error) {
	c.wrote += len(b)
	return len(b), nil
}

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.l.read.Add(int64(c.reads))
	c.l.wrote.Add(int64(c.wrote))
	c.l.idle <- c
	c.l.served.Done()
	return nil
}

func (c *conn) LocalAddr() net.Addr              { return serverAddr }
func (c *conn) RemoteAddr() net.Addr             { return clientAddr }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
