//go:build !unix && !windows

package gale

import (
	"errors"
	"io"
)

// isReset reports whether err says that the peer broke the connection off.
func isReset(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
