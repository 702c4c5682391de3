//go:build unix

package upload

import (
	"errors"
	"syscall"
)

// isFull reports whether a write failed because the disk is full, or a quota or the
// largest size of a file was reached.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
