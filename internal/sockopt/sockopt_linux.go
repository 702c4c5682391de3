package sockopt

import "golang.org/x/sys/unix"

// ReusePort lets several sockets listen on one port (SO_REUSEPORT, socket(7)).
// The system spreads the connections over them.
func ReusePort(fd uintptr) error {
	return result("setsockopt SO_REUSEPORT", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// DualStack lets an IPv6 socket take connections over IPv4 (IPV6_V6ONLY,
// ipv6(7)).
func DualStack(fd uintptr) error {
	return result("setsockopt IPV6_V6ONLY", unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0))
}

// DeferAccept delays Accept of a connection until it has bytes to read, or for
// about a second (TCP_DEFER_ACCEPT, tcp(7)).
func DeferAccept(fd uintptr) error {
	return result("setsockopt TCP_DEFER_ACCEPT", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1))
}

// FastOpen accepts data with the first packet of a connection (TCP_FASTOPEN,
// RFC 7413), if the system's settings allow it.
func FastOpen(fd uintptr) error {
	return result("setsockopt TCP_FASTOPEN", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN, fastOpenQueue))
}

// Backlog sets how many connections may wait for Accept, listen(2). The socket may
// be listening already. The system limits n.
func Backlog(fd uintptr, n int) error {
	return result("listen", unix.Listen(int(fd), n))
}
