package engine

import (
	"net"
	"syscall"
)

// sockets are the system calls for non-blocking sockets. If they fail, n is negative. The
// caller must make sure that fd stays open during the call: it owns the connection, or
// uses fd in control or under eventConn.mu.
type sockets interface {
	read(fd int32, p []byte) (n int, errno syscall.Errno)
	write(fd int32, p []byte) (n int, errno syscall.Errno)
	writev(fd int32, a, b []byte) (n int, errno syscall.Errno)
	// sendFile sends from f.Off. It returns errNoSendfile if f can't be sent by
	// sendfile(2).
	sendFile(fd int32, f *File) (n int, err error)
	shutdown(fd int32, how int) error
	setLinger(fd int32, sec int) error
	localAddr(fd int32) (rawAddr, error)
	// hungUp reports whether the peer has left, and whether the connection was reset.
	hungUp(fd int32) (gone, reset bool)
	// remove takes fd out of the poller. After netConn closing fd would not do that,
	// since a duplicate is open (epoll(7), question 6).
	remove(fd int32)
	// netConn returns a connection of package net with a duplicate of fd.
	netConn(fd int32) (net.Conn, error)
	// accept accepts a connection from the listener fd, which is non-blocking.
	accept(fd uintptr) (accepted, syscall.Errno)
	// setOption sets an option of a connection or a listener.
	setOption(fd, level, name, value int) error
	// duplicate returns a duplicate of the socket fd.
	duplicate(fd uintptr) (accepted, error)
	close(fd int32)
}
