// Package sockopt opens listening sockets of TCP, and sets options of listening
// sockets by their descriptors, on the systems that have them.
//
// All functions may be called at any time, but ReusePort and DualStack only
// before the socket is bound. Where the system doesn't have an option, the error
// is errors.ErrUnsupported or wraps it, and the socket is as it was.
package sockopt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// fastOpenQueue is how many connections that were opened with data may wait for
// the end of their handshake. It bounds what forged openings can cost; beyond it
// connections are opened the usual way.
const fastOpenQueue = 4096

// result names the system call and maps the many ways to say "unsupported" to
// one.
func result(what string, err error) error {
	if err == nil {
		return nil
	}
	var no syscall.Errno
	if errors.Is(err, errors.ErrUnsupported) || errors.As(err, &no) && no == syscall.ENOPROTOOPT {
		return fmt.Errorf("%s: %w (%v)", what, errors.ErrUnsupported, err)
	}
	return os.NewSyscallError(what, err)
}
