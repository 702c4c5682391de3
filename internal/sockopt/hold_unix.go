//go:build unix

package sockopt

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hold binds a socket with SO_REUSEPORT to addr but doesn't listen on it. As long
// as the file is open, only sockets with SO_REUSEPORT can use the port, and no
// connection goes to the held socket. If the port in addr is 0, the system chooses
// one. The port is free again after all files of the socket were closed. HeldPort
// returns the port.
func Hold(network string, addr *net.TCPAddr) (*os.File, error) {
	fd, err := holdPort(network, addr)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "held port"), nil
}

func holdPort(network string, addr *net.TCPAddr) (fd int, err error) {
	ip4 := addr.IP.To4()
	if network == "tcp4" || ip4 != nil {
		sa := &unix.SockaddrInet4{Port: addr.Port}
		copy(sa.Addr[:], ip4)
		return bound(unix.AF_INET, sa, false)
	}
	sa := &unix.SockaddrInet6{Port: addr.Port}
	copy(sa.Addr[:], addr.IP.To16())
	if addr.Zone != "" {
		nif, err := net.InterfaceByName(addr.Zone)
		if err != nil {
			return -1, err
		}
		sa.ZoneId = uint32(nif.Index)
	}
	fd, err = bound(unix.AF_INET6, sa, addr.IP == nil || addr.IP.IsUnspecified())
	if err != nil && network == "tcp" && addr.IP == nil { // the system has no IPv6
		return bound(unix.AF_INET, &unix.SockaddrInet4{Port: addr.Port}, false)
	}
	return fd, err
}

// bound returns a socket that is bound to sa.
func bound(family int, sa unix.Sockaddr, dual bool) (fd int, err error) {
	if fd, err = socket(family); err != nil {
		return -1, err
	}
	if dual {
		err = optional(DualStack(uintptr(fd)))
	}
	if err == nil {
		err = ReusePort(uintptr(fd))
	}
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, sa))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Share returns another descriptor of the socket of c, for other processes. Unlike the files
// that package net makes, it doesn't become blocking when its descriptor is asked for. That
// mode belongs to the socket: all processes that share it would block.
func Share(c syscall.Conn) (*os.File, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	err = control(raw, func(fd uintptr) (err error) {
		dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		return os.NewSyscallError("fcntl", err)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), "shared socket"), nil
}

// HeldPort returns the port that Hold has bound the socket fd to, in a process that
// inherited the descriptor. If fd is anything else, it returns false and doesn't
// touch it: the descriptor may be open for other purposes.
func HeldPort(fd int) (port int, ok bool) {
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening != 0 {
		return 0, false
	}
	if _, err := unix.Getpeername(fd); err == nil {
		return 0, false // a connection
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return 0, false
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		port = sa.Port
	case *unix.SockaddrInet6:
		port = sa.Port
	}
	if port == 0 {
		return 0, false
	}
	unix.CloseOnExec(fd)
	return port, true
}
