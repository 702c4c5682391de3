package clientconn

import (
	"errors"
	"io"
	"syscall"
)

// IsReset reports whether err says that the peer reset the connection.
func IsReset(err error) bool {
	return errors.Is(err, syscall.WSAECONNRESET) || errors.Is(err, syscall.WSAECONNABORTED) || errors.Is(err, io.ErrClosedPipe)
}
