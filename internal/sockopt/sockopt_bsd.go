//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package sockopt

import (
	"errors"

	"golang.org/x/sys/unix"
)

// ReusePort lets several sockets listen on one port (SO_REUSEPORT, or
// SO_REUSEPORT_LB on systems where only that option spreads connections over them).
func ReusePort(fd uintptr) error {
	return result("setsockopt SO_REUSEPORT", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, reusePort, 1))
}

// DualStack lets an IPv6 socket take connections over IPv4.
func DualStack(fd uintptr) error {
	return result("setsockopt IPV6_V6ONLY", unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0))
}

// DeferAccept is not supported here.
func DeferAccept(uintptr) error { return errors.ErrUnsupported }

// FastOpen is not supported here.
func FastOpen(uintptr) error { return errors.ErrUnsupported }

// Backlog sets how many connections may wait for Accept, listen(2). The socket may
// be listening already. The system limits n.
func Backlog(fd uintptr, n int) error {
	return result("listen", unix.Listen(int(fd), n))
}
