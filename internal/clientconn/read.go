package clientconn

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/pool"
)

// Unread returns the bytes that were read but not used yet.
func (c *Conn) Unread() []byte {
	if c.buf == nil {
		return nil
	}
	return c.buf.B[c.r:]
}

// Consume removes the first n unread bytes; n is at most len(Unread()).
func (c *Conn) Consume(n int) { c.r += n }

// Fill reads at least one more byte after the unread ones, or returns an error.
func (c *Conn) Fill() error {
	if c.readErr != nil {
		return c.readErr
	}
	b := c.buf
	if b == nil {
		b = pool.Get(ReadRoom)
		c.buf = b
	}
	switch {
	case c.r == len(b.B):
		b.B, c.r = b.B[:0], 0
	case len(b.B) == cap(b.B) && c.r > 0:
		b.B = b.B[:copy(b.B, b.B[c.r:])]
		c.r = 0
	}
	if len(b.B) == cap(b.B) {
		b.Grow(1)
	}
	n, err := c.ReadSome(b.B[len(b.B):cap(b.B)])
	b.B = b.B[:len(b.B)+n]
	return err
}

// ReadSome reads at least one byte into p, without the buffer, or returns an error.
func (c *Conn) ReadSome(p []byte) (int, error) {
	for range pool.MaxEmptyReads {
		if !c.read.covered(c.lazy) {
			if err := c.setReadDeadline(); err != nil {
				return 0, err
			}
		}
		if c.stirred.Load() { // looked at after the deadline was set, which may have replaced that of Stir
			if err := c.stir(); err != nil {
				return 0, err
			}
		}
		n, err := c.nc.Read(p)
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if c.stirred.Load() {
			if err := c.stir(); err != nil {
				return 0, err
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue
			}
			return 0, err
		}
		if !engine.IsTimeout(err) {
			return 0, err
		}
		// After ETIMEDOUT the next read of a socket would return its end, as if the
		// server had closed it.
		if c.read.want == c.read.set || c.read.due() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, c.hooks.Timeout
		}
		c.read.set = 0 // the deadline was too early
		if c.read.want == 0 {
			if err := c.setReadDeadline(); err != nil {
				return 0, err
			}
		}
	}
	return 0, io.ErrNoProgress
}

// ReadBodyPart reads at least one byte into p, or returns an error. left is how
// many bytes of the body are missing; len(p) must not be more. If Alive can't check
// the connection, the end of the body is read through the buffer: bytes after it
// stay in the buffer, where they are noticed and not read as the next response.
func (c *Conn) ReadBodyPart(p []byte, left int64) (int, error) {
	if c.CanCheck() {
		return c.ReadSome(p)
	}
	if left >= ReadRoom {
		return c.ReadSome(p[:min(int64(len(p)), left-1)])
	}
	if len(c.Unread()) == 0 {
		if err := c.Fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.Unread())
	c.r += n
	return n, nil
}

// silent reports whether the TLS connection holds no unread bytes. It may have read
// more records from the socket than were requested. silent doesn't wait.
func (c *Conn) silent() bool {
	var b [1]byte
	if c.nc.SetReadDeadline(clock.LongAgo) != nil {
		return false
	}
	n, err := c.nc.Read(b[:])
	c.read.set = 0
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.nc.SetReadDeadline(time.Time{}) == nil
}
