//go:build unix && !linux

package static

// largeFile is only needed on Linux.
const largeFile = 0
