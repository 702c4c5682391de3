package server

import (
	"net"
	"syscall"
)

// smallBuffers gives the connections of ln small send buffers.
func smallBuffers(ln net.Listener) {
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 16<<10)
	})
}
