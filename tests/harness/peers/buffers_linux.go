package peers

import (
	"net"
	"syscall"
)

// DuplexSize is more than both ends of a connection hold if the server's end has DuplexBuffers, and the client reads
// nothing. Without that, the server's end may hold all of it: Linux lets it grow to 4 MiB.
const DuplexSize = 3 << 20

// SmallBuffers gives the server's ends of the connections of ln buffers of so many bytes, about. Call it before a client
// connects: a connection that waits for Accept has the buffers that ln had before.
func SmallBuffers(ln net.Listener, send, receive int) {
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, send)
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receive)
	})
}
