//go:build !unix && !windows

package upload

// isFull reports whether a write failed because the disk is full.
func isFull(error) bool { return false }
