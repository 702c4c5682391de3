//go:build unix

package clientconn

import "syscall"

// CanCheck reports whether Alive can check the connection.
func (c *Conn) CanCheck() bool { return c.raw != nil }

// Alive reports whether an idle connection can be used: nothing was received on it,
// neither its end nor unexpected bytes. It checks the socket, also under TLS, where
// a server sends records only as an answer or to close. A connection without a
// socket counts as alive.
//
// It needs one system call, which doesn't wait. If it reads a byte, that byte is
// lost, and the connection can't be used any more.
func (c *Conn) Alive() bool {
	if c.raw == nil {
		return true
	}
	if c.probe == nil {
		c.probe = func(fd uintptr) {
			var b [1]byte
			_, err := ignoreEINTR(syscall.Read, int(fd), b[:])
			c.healthy = err == syscall.EAGAIN
		}
	}
	c.healthy = false
	return c.raw.Control(c.probe) == nil && c.healthy && (!c.tls || c.silent())
}
