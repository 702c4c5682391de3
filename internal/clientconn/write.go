package clientconn

import (
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
		m, err := c.nc.Write(p[n:])
		n += m
		switch {
		case err == nil && n == len(p):
			return n, nil
		case err == nil:
			return n, io.ErrShortWrite
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

// WriteBoth writes a head and a body. On sockets it needs one system call. wrote
// says that bytes were written.
func (c *Conn) WriteBoth(head, body []byte) (wrote bool, err error) {
	if c.raw == nil || c.tls {
		n, err := c.Write(head)
		if err == nil {
			_, err = c.Write(body)
		}
		return n > 0, err
	}
	c.vec = [2][]byte{head, body}
	c.bufs = c.vec[:]
	defer func() { c.vec, c.bufs = [2][]byte{}, nil }()
	for {
		if !c.write.covered(c.lazy) {
			if err := c.setWriteDeadline(); err != nil {
				return wrote, err
			}
		}
		n, err := c.bufs.WriteTo(c.nc)
		wrote = wrote || n > 0
		if err == nil || !engine.IsTimeout(err) {
			return wrote, err
		}
		if c.write.want == c.write.set || c.write.due() {
			return wrote, c.hooks.Timeout
		}
		if err := c.setWriteDeadline(); err != nil {
			return wrote, err
		}
	}
}
