package peers

import (
	"net"
	"syscall"
)

// DuplexSize is more than the buffers of both ends of a connection hold.
const DuplexSize = 3 << 20

// SmallBuffers gives the server's ends of the connections of ln buffers of so many bytes, about.
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
