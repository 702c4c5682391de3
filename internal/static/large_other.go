//go:build !linux

package static

// LargeFile is only needed on Linux.
const LargeFile = 0
