//go:build unix

package sockopt

import (
	"math"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenUNIX listens on the UNIX socket addr with the given file mode, which the process's umask
// doesn't change. No user whom mode keeps out can connect, not even before the mode is set: on
// Linux the socket begins with a part of mode, and nowhere does it listen before it has it. backlog
// is how many connections may wait for Accept; 0 means as many as the system allows.
func ListenUNIX(addr string, mode os.FileMode, backlog int) (net.Listener, error) {
	if backlog <= 0 {
		backlog = math.MaxUint16 // the system limits it
	}
	ln, err := listenUNIX(addr, mode, backlog)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: &net.UnixAddr{Name: addr, Net: "unix"}, Err: err}
	}
	return ln, nil
}

func listenUNIX(addr string, mode os.FileMode, backlog int) (net.Listener, error) {
	fd, err := socket(unix.AF_UNIX)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), addr)
	defer f.Close()                          // package net makes a descriptor of its own
	_ = unix.Fchmod(fd, uint32(mode.Perm())) // Linux: bind takes the mode from here
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: addr})
	if err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	ln, err := boundUNIX(f, addr, mode, backlog)
	if err != nil {
		_ = os.Remove(addr)
	}
	return ln, err
}

// boundUNIX listens on the socket f, which is bound to addr.
func boundUNIX(f *os.File, addr string, mode os.FileMode, backlog int) (net.Listener, error) {
	if err := os.Chmod(addr, mode); err != nil {
		return nil, err
	}
	if err := unix.Listen(int(f.Fd()), backlog); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(true)
	return ln, nil
}

// socket returns a stream socket of the family.
func socket(family int) (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err = unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	return fd, nil
}
