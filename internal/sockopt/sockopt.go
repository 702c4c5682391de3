// Package sockopt opens listening TCP sockets, and sets their options by file
// descriptor, on the systems that have them.
//
// ReusePort and DualStack must be called before the socket is bound; the others may
// be called at any time. If the system doesn't have an option, the error is or
// wraps errors.ErrUnsupported, and the socket is unchanged.
package sockopt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// fastOpenQueue is how many connections that were opened with data may wait for the
// end of their handshake. It limits the cost of forged openings. Beyond it,
// connections are opened in the usual way.
const fastOpenQueue = 4096

// result adds the name of the system call to err, and maps the different errors for
// "unsupported" to one.
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
