package bench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2/hpack"
)

// http2Listener hands out connections of clients that live in memory and speak HTTP/2, all
// at once.
type http2Listener struct {
	conns    []*http2Conn
	next     int // of conns, for Accept
	open     sync.WaitGroup
	left     atomic.Int64 // connections that have not got all answers
	answered chan struct{}
	stopped  chan struct{}
}

// newHTTP2Listener makes clients that make total requests together.
func newHTTP2Listener(total int, load http2Load) (*http2Listener, error) {
	r, err := newHTTP2Requests(load)
	if err != nil {
		return nil, err
	}
	l := &http2Listener{answered: make(chan struct{}), stopped: make(chan struct{})}
	n := min(http2Conns, total)
	for i := range n {
		l.conns = append(l.conns, newHTTP2Conn(l, r, load, (total+i)/n))
	}
	l.left.Store(int64(n))
	l.open.Add(n)
	return l, nil
}

// Accept is called by one goroutine.
func (l *http2Listener) Accept() (net.Conn, error) {
	if l.next < len(l.conns) {
		l.next++
		return l.conns[l.next-1], nil
	}
	<-l.stopped
	return nil, io.EOF
}

func (l *http2Listener) Close() error   { return nil }
func (l *http2Listener) Addr() net.Addr { return serverAddr }

// done tells that a connection has all its answers, or never will.
func (l *http2Listener) done() {
	if l.left.Add(-1) == 0 {
		close(l.answered)
	}
}

// end lets the server find the end of all connections, and returns when it has closed them.
func (l *http2Listener) end() {
	for _, c := range l.conns {
		c.end()
	}
	l.open.Wait()
	close(l.stopped)
}

// check returns what was wrong with the answers.
func (l *http2Listener) check() error {
	var errs []error
	for _, c := range l.conns {
		errs = append(errs, c.check())
	}
	return errors.Join(errs...)
}

func (c *http2Conn) check() error {
	if c.err != nil {
		return c.err
	}
	if want := c.total * c.load.answer; c.data != want {
		return fmt.Errorf("%d bytes in bodies of %d answers, want %d", c.data, c.total, want)
	}
	fields, err := hpack.NewDecoder(4096, nil).DecodeFull(c.head)
	if err != nil {
		return err
	}
	if fields[0].Name != ":status" || fields[0].Value != "200" {
		return fmt.Errorf("answered with %v", fields)
	}
	return nil
}
