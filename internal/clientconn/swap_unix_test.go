//go:build unix

package clientconn

import (
	"io"
	"net"
	"testing"
)

// swap sends a request over c.
func swap(c *Conn, request string) (n int, err error) {
	b := c.Buffer(ReadRoom)
	b.B = append(b.B[:0], request...)
	return c.Swap()
}

// Swap sends the request and reads the response; over a connection that has been idle only
// if nothing has come meanwhile.
func TestSwap(t *testing.T) {
	c, peer := sockets(t)
	if !c.CanSwap() || !c.CanCheck() {
		t.Fatal("a socket can't be used for that")
	}
	serve := func(response string) {
		b := make([]byte, 7)
		if _, err := io.ReadFull(peer, b); err == nil {
			peer.Write([]byte(response))
		}
	}
	for i := range 3 {
		go serve("response")
		if n, err := swap(c, "request"); n != 7 || err != nil {
			t.Fatalf("%d: %d bytes, %v", i, n, err)
		}
		for string(c.Unread()) != "response" {
			if err := c.Fill(); err != nil {
				t.Fatalf("%d: %q, %v", i, c.Unread(), err)
			}
		}
		c.Consume(len("response"))
		c.MarkIdle()
		c.LendBuffer(c.TakeBuffer())
	}
	if !c.Alive() {
		t.Error("an idle connection isn't alive")
	}
	peer.Write([]byte("surplus"))
	for c.Alive() {
		// takes a byte once one has come
	}
	if n, err := swap(c, "request"); n != 0 || err != ErrStale {
		t.Errorf("%d bytes were written over a connection with surplus, %v", n, err)
	}
}

// The response of a server that sends it, or closes, before it was asked belongs to the
// first request over a new connection.
func TestSwapNew(t *testing.T) {
	c, peer := sockets(t)
	peer.Write([]byte("busy"))
	peer.(*net.TCPConn).CloseWrite()
	if n, err := swap(c, "request"); n != 7 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for len(c.Unread()) < 4 {
		if err := c.Fill(); err != nil {
			t.Fatalf("%q, %v", c.Unread(), err)
		}
	}
	if err := c.Fill(); err != io.EOF || string(c.Unread()) != "busy" {
		t.Errorf("%q, %v, want the response and its end", c.Unread(), err)
	}
}

// A deadline that has passed ends the wait for the response.
func TestSwapTimeout(t *testing.T) {
	c, _ := sockets(t)
	c.BoundReads(1)
	n, err := swap(c, "request")
	if err == nil {
		err = c.Fill()
	}
	if err != errTimeout {
		t.Errorf("%d bytes, %v, want that time is up", n, err)
	}
}

// A reset is told to Swap only once; Fill returns it, and not the end that a socket shows
// afterwards.
func TestSwapReset(t *testing.T) {
	c, peer := sockets(t)
	go func() {
		_, _ = io.ReadFull(peer, make([]byte, len("request")))
		_ = peer.(*net.TCPConn).SetLinger(0)
		_ = peer.Close()
	}()
	if n, err := swap(c, "request"); n != 7 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if err := c.Fill(); !IsReset(err) {
		t.Errorf("%v, want that the connection was reset", err)
	}
}
