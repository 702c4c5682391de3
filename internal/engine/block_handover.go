package engine

import (
	"net"
	"sync"
	"time"
)

// How a connection of Block leaves the engine: Detach and Hijack.

// Detach takes the connection out of the engine. Only the goroutine that runs the session
// may call it, and no other may be in Fill. It ends the watch first, since that reads
// too. It copies the unread bytes.
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

// handOver returns the connection as an ordinary one, for Hijacked. The goroutine of the
// connection calls it, as its last step.
func (c *blockConn) handOver() net.Conn {
	defer c.dropWork()
	return c.ordinary()
}

// ordinary returns a connection whose Read returns the unread bytes first: those of the
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

// hijackedConn is a connection of which some bytes were already read. Any goroutine may
// call its methods. mu guards rest, and isn't held while the wrapped connection reads.
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

// TakeUnread returns the bytes that were already read and that Read has not returned yet.
// Read then doesn't return them. Package ws uses it.
func (h *hijackedConn) TakeUnread() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.rest
	h.rest = nil
	return rest
}

// UnsafeConn returns the wrapped connection. Its Read does not return the bytes that were
// already read.
func (h *hijackedConn) UnsafeConn() net.Conn { return h.Conn }
