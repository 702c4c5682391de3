package gale

import (
	"errors"
	"io"
	"syscall"
)

// isReset reports whether err says that the peer broke the connection off.
func isReset(err error) bool {
	return errors.Is(err, syscall.WSAECONNRESET) || errors.Is(err, syscall.WSAECONNABORTED) || errors.Is(err, io.ErrClosedPipe)
}
