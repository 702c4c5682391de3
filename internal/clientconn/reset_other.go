//go:build !unix && !windows

package clientconn

import (
	"errors"
	"io"
)

// IsReset reports whether err says that the peer reset the connection.
func IsReset(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
