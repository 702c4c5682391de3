//go:build unix

package clientconn

import "syscall"

// CanCheck reports whether Alive finds out about the connection.
func (c *Conn) CanCheck() bool { return c.raw != nil }

// Alive reports whether an idle connection can be used: nothing was received,
// neither its end nor bytes that weren't asked for. It looks at the socket, also
// under TLS, where a server may send a record only as an answer, or to close. A
// connection without a socket is taken for alive.
//
// It costs a system call that doesn't wait. A byte that it reads is lost, and the
// connection with it.
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
