//go:build !unix && !windows

package clientconn

import (
	"errors"
	"io"
)

// IsReset reports whether err says that the peer broke the connection off.
func IsReset(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
