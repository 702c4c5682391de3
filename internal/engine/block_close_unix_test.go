//go:build unix

package engine

import (
	"net"
	"sync/atomic"
	"testing"
)

// layered is a connection on top of a socket, like those of TLS.
type layered struct {
	net.Conn
	closes atomic.Int32
}

func (l *layered) NetConn() net.Conn { return l.Conn }

func (l *layered) Close() error {
	l.closes.Add(1)
	return l.Conn.Close()
}

// held is a session that waits in Feed.
type held struct {
	*lines
	in, out chan struct{}
	close   bool // close the connection when it goes on
}

func (s *held) Feed(_ *Work, next *Next) {
	s.in <- struct{}{}
	if <-s.out; s.close {
		next.Op = Abort
	}
}

// A program may close a connection of TLS from any goroutine. The write of that Close may
// still wait when the connection ends.
func TestWriteFromAsideOutlivesConn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := &layered{Conn: Pace(nc)}
	s := &held{lines: newLines(), in: make(chan struct{}, 1), out: make(chan struct{})}
	e := &Block{}
	ended := make(chan struct{})
	go func() { defer close(ended); e.Serve(conn, true, e.Epoch(), s) }()
	send(t, client, "a\n")
	<-s.in

	wrote := make(chan any, 1)
	go func() {
		defer func() { wrote <- recover() }()
		for { // the client doesn't read: it waits in the end
			if _, err := conn.Conn.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}()
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.close = true
	close(s.out)
	<-ended
	if r := <-wrote; r != nil {
		t.Errorf("a write panics when the connection has ended: %v", r)
	}
}
