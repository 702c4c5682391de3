package engine

import (
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// How Block writes to connections that aren't sockets. It sets a deadline before a write.
// It sees progress between the pieces of a write, or in the byte count that a write
// returns with a timeout. The goroutine that serves the connection calls these functions.

const (
	// tlsPiece is how much is written at a time to a connection that can't go on writing
	// after a timeout. It is the size of the largest TLS record (RFC 8446 section 5.1).
	tlsPiece = 16 << 10
	// foreignPiece is the same for other connections.
	foreignPiece = 256 << 10
	// lentPiece is the same where the engine may set no deadline: there only a whole
	// piece counts as progress.
	lentPiece = 1 << 10
)

// unreader is a connection in memory, such as those of package galeutil. It accepts a
// write of any size at once, and Unread returns how many of these bytes its peer has not
// read.
type unreader interface{ Unread() int }

// piece returns how much to write at a time. Without stall, one write may take it all.
func (c *blockConn) piece() int {
	if c.bounds.stall <= 0 || c.paced != nil {
		return maxPiece
	}
	if c.bounds.tells {
		return maxPiece
	}
	if _, ok := c.nc.(interface{ NetConn() net.Conn }); ok {
		return tlsPiece
	}
	if c.bounds.lent {
		return lentPiece
	}
	return foreignPiece
}

// coarse is the shortest timeout for which armed.trusted is used. The coarse clock is up
// to a second late, and from here on the margin of armWrite is larger than that.
const coarse = 8 * time.Second

// maxPiece is larger than any write.
const maxPiece = 1<<31 - 1

// writeEnd returns when a write that begins now must have ended, 0 for never.
func (c *blockConn) writeEnd() clock.Tick {
	end := c.bounds.limit
	if d := c.bounds.timeout; d > 0 {
		end = clock.Earlier(end, clock.Ticks().Add(d+d/4))
	}
	return end
}

// writeForeign writes b, until end at the latest; 0 means no end.
func (c *blockConn) writeForeign(b []byte, end clock.Tick) error {
	most := lentPiece // the least
	if len(b) > most {
		most = c.piece()
	}
	for len(b) > 0 {
		n, err := c.writePiece(b[:min(len(b), most)], end)
		b = b[n:]
		if err != nil {
			return err
		}
	}
	return nil
}

// writePiece writes b. With a nil error n may be less than b has.
func (c *blockConn) writePiece(b []byte, end clock.Tick) (n int, err error) {
	if c.paced != nil {
		return c.nc.Write(b) // it applies the bounds itself
	}
	p := &c.bounds
	if p.lent {
		return c.writeLent(b, end)
	}
	c.armWrite(end)
	before := c.unread()
	n, err = c.nc.Write(b)
	if err == nil {
		return len(b), nil
	}
	if p.cut.Load() || !IsTimeout(err) {
		return n, err
	}
	now := clock.Ticks()
	if p.stall > 0 && (end == 0 || now < end) && (n > 0 || c.unread() < before) {
		return n, nil // go on
	}
	if c.armed.write != 0 && now >= c.armed.write {
		c.e.writeTimeouts.Add(1)
	}
	return n, err
}

// writeLent is writePiece while the program owns the deadlines.
func (c *blockConn) writeLent(b []byte, end clock.Tick) (n int, err error) {
	p := &c.bounds
	before := c.unread()
	due := end
	if p.stall > 0 {
		due = clock.Earlier(due, clock.Ticks().Add(p.stall))
	}
	a := (&alarm{ring: p.poke, sess: c.sess, patience: p.stall, moved: func() bool {
		now := c.unread()
		moved := now < before
		before = now
		return moved && p.stall > 0 && (end == 0 || clock.Ticks() < end)
	}}).start(due)
	n, err = c.nc.Write(b)
	if a.stop() && err != nil {
		c.e.writeTimeouts.Add(1)
	}
	if err == nil {
		n = len(b)
	}
	return n, err
}

// unread returns how many of the written bytes the peer has not read. It is always 0 if
// the connection can't tell.
func (c *blockConn) unread() int {
	if !c.bounds.tells {
		return 0
	}
	return c.nc.(unreader).Unread()
}

// armWrite sets the write deadline of the connection, if the current one is too early, or
// too late by more than a quarter of the timeout. It sets it a quarter late, so that a
// busy connection rarely has to set it.
func (c *blockConn) armWrite(end clock.Tick) {
	d := c.bounds.timeout
	if s := c.bounds.stall; s > 0 && (d <= 0 || s < d) {
		d = s
	}
	until := clock.Tick(0)
	if d > 0 {
		until = clock.Ticks().Add(d)
		most := until.Add(d / 4)
		if until <= c.armed.write && c.armed.write <= most && (end == 0 || c.armed.write <= end) {
			return
		}
		until = most
	}
	if until = clock.Earlier(until, end); until == c.armed.write {
		return
	}
	c.armed.write = until
	c.bounds.setDeadline(until)
	if c.armed.trusted = 0; d >= coarse && c.bounds.limit == 0 && !c.bounds.tells {
		c.armed.trusted = until - clock.Tick(d+time.Second)
	}
}

// writeAgain goes on after Flush has written n bytes of w.Out and got err. Flush had not
// checked the deadlines: on connections that aren't sockets that would cost a twentieth
// of a small request.
func (c *blockConn) writeAgain(w *Work, n int, err error) error {
	c.armed.trusted = 0
	if c.bounds.stall > 0 && n > 0 && IsTimeout(err) && !c.bounds.cut.Load() {
		return c.write(w, w.Out[n:], nil)
	}
	if IsTimeout(err) && !c.bounds.cut.Load() {
		c.e.writeTimeouts.Add(1)
	}
	c.bounds.broken.Store(true)
	return c.failed(err)
}
