//go:build unix

package main

import (
	"syscall"
	"testing"
)

// makePipe makes a named pipe that no one writes to.
func makePipe(t *testing.T, path string) {
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip("no named pipes here:", err)
	}
}
