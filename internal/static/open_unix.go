//go:build unix

package static

import (
	"errors"
	"syscall"
)

// openFlags keep open from waiting for the writer of a named pipe and from
// making a terminal the controlling one. They mean nothing to regular files.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// IsTooManyFiles tells if the process or the system has run out of descriptors.
func IsTooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
