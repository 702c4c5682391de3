package clientconn

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/engine"
)

// Write writes all of p; n is how many bytes were written. It makes c an io.Writer
// that observes the deadline of BoundWrites.
func (c *Conn) Write(p []byte) (n int, err error) {
	for {
		// A TLS write that timed out can't be continued.
		if !c.write.covered(c.lazy && !c.tls) {
			if err := c.setWriteDeadline(); err != nil {
				return n, err
			}
		}
		if c.halted.Load() { // looked at after the deadline was set, as in ReadSome
			return n, errHalted
		}
		m, err := c.nc.Write(p[n:])
		n += m
		switch {
		case err == nil && n == len(p):
			return n, nil
		case err == nil:
			return n, io.ErrShortWrite
		case IsReset(err) && !errors.Is(err, io.ErrClosedPipe): // also if it was halted: no other call is told
			return n, err
		case c.halted.Load():
			return n, errHalted
		case !engine.IsTimeout(err):
			return n, err
		case c.write.want == c.write.set || c.write.due():
			return n, c.hooks.Timeout
		}
		if err := c.setWriteDeadline(); err != nil {
			return n, err
		}
	}
}

// CanWriteBoth reports whether WriteBoth can be used on the connection: on a socket without TLS, a
// write can be continued after its deadline.
func (c *Conn) CanWriteBoth() bool { return c.raw != nil && !c.tls }

// WriteBoth writes a head and a body with one system call. n is how many bytes were written.
func (c *Conn) WriteBoth(head, body []byte) (n int64, err error) {
	c.vec = [2][]byte{head, body}
	c.bufs = c.vec[:]
	defer func() { c.vec, c.bufs = [2][]byte{}, nil }()
	for {
		if !c.write.covered(c.lazy) {
			if err := c.setWriteDeadline(); err != nil {
				return n, err
			}
		}
		m, err := c.bufs.WriteTo(c.nc)
		n += m
		if err == nil || !engine.IsTimeout(err) {
			return n, err
		}
		if c.write.want == c.write.set || c.write.due() {
			return n, c.hooks.Timeout
		}
		if err := c.setWriteDeadline(); err != nil {
			return n, err
		}
	}
}
