package sockopt

import (
	"errors"

	"golang.org/x/sys/windows"
)

// ReusePort lets several sockets listen on one port (SO_REUSEADDR). It is undefined
// which of them gets a connection.
func ReusePort(fd uintptr) error {
	return result("setsockopt SO_REUSEADDR", windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_REUSEADDR, 1))
}

// DualStack lets an IPv6 socket take connections over IPv4.
func DualStack(fd uintptr) error {
	return result("setsockopt IPV6_V6ONLY", windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IPV6, windows.IPV6_V6ONLY, 0))
}

// DeferAccept is not supported here.
func DeferAccept(uintptr) error { return errors.ErrUnsupported }

// FastOpen is not supported here.
func FastOpen(uintptr) error { return errors.ErrUnsupported }

// Backlog is not supported here: the queue of a listening socket can't be changed.
func Backlog(uintptr, int) error { return errors.ErrUnsupported }
