//go:build unix

package gale

import (
	"errors"
	"io"
	"syscall"
)

// isReset reports whether err says that the peer broke the connection off.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, io.ErrClosedPipe)
}
