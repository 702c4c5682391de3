//go:build unix

package static

import (
	"errors"
	"syscall"
)

// With openFlags, open doesn't wait for the writer of a named pipe and doesn't make
// a terminal the controlling one. They have no effect on regular files, except LargeFile.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | LargeFile

// IsTooManyFiles reports whether the process or the system has run out of descriptors.
func IsTooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
