//go:build unix

package clientconn

import (
	"errors"
	"io"
	"syscall"
)

// IsReset reports whether err says that the peer reset the connection.
func IsReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, io.ErrClosedPipe)
}
