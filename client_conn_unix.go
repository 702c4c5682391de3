//go:build unix

package gale

import "syscall"

// canCheck reports whether alive finds out about the connection.
func (cc *clientConn) canCheck() bool { return cc.raw != nil }

// alive reports whether an idle connection can be used: nothing was received,
// neither its end nor bytes that nobody asked for. It looks at the socket, also
// under TLS, where a server may send a record only as an answer, or to close. A
// connection without a socket is taken for alive.
//
// It costs a system call that doesn't wait. A byte that it reads is lost, and the
// connection with it.
func (cc *clientConn) alive() bool {
	if cc.raw == nil {
		return true
	}
	if cc.probe == nil {
		cc.probe = func(fd uintptr) {
			var b [1]byte
			_, err := ignoreEINTR(syscall.Read, int(fd), b[:])
			cc.healthy = err == syscall.EAGAIN
		}
	}
	cc.healthy = false
	return cc.raw.Control(cc.probe) == nil && cc.healthy && (!cc.tls || cc.silent())
}
