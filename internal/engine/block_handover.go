package engine

import (
	"net"
	"sync"
	"time"
)

// How a connection of Block leaves the engine: Detach and Hijack.

// Detach takes the connection out of the engine. Only the goroutine that runs the session
// may call it, and no other may be in Fill. The watch ends first: it reads too. What is
// unread is copied.
func (c *blockConn) Detach(w *Work) (net.Conn, error) {
	if err := c.Flush(w); err != nil {
		return nil, err
	}
	c.endWatch()
	c.e.remove(c)
	c.detached = true
	nc := c.ordinary()
	w.Consume(len(w.Unread()))
	return nc, nil
}

// handOver makes the connection an ordinary one, for Hijacked. Its goroutine calls it,
// last.
func (c *blockConn) handOver() net.Conn {
	defer c.dropWork()
	return c.ordinary()
}

// ordinary returns the connection as one whose Read returns what is unread first: the
// workspace or the stash, then the byte read ahead. No deadline is set on it.
func (c *blockConn) ordinary() net.Conn {
	c.unpace()
	c.nc.SetDeadline(time.Time{})
	var rest []byte
	if c.w != nil {
		rest = append(rest, c.w.Unread()...)
	}
	rest = append(rest, c.stash...)
	rest = append(rest, c.ahead[:c.nAhead]...)
	if len(rest) == 0 {
		return c.nc
	}
	return &hijackedConn{Conn: c.nc, rest: rest}
}

// hijackedConn is a connection of which some bytes were read already. mu guards rest, and
// isn't held while the connection below reads: any goroutine may call its methods.
type hijackedConn struct {
	net.Conn
	mu   sync.Mutex
	rest []byte
}

// Read first returns the bytes that came after the request.
func (h *hijackedConn) Read(p []byte) (int, error) {
	h.mu.Lock()
	if len(h.rest) > 0 {
		n := copy(p, h.rest)
		h.rest = h.rest[n:]
		h.mu.Unlock()
		return n, nil
	}
	h.mu.Unlock()
	return h.Conn.Read(p)
}

// UnsafeConn returns the connection below; bytes that were read already are
// not in it.
func (h *hijackedConn) UnsafeConn() net.Conn { return h.Conn }
