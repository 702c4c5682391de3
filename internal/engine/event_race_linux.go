//go:build race

package engine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func sysRead(fd int32, p []byte) (int, syscall.Errno)  { return readSlow(fd, p) }
func sysWrite(fd int32, p []byte) (int, syscall.Errno) { return writeSlow(fd, p) }

func sysWritev(fd int32, a, b []byte) (int, syscall.Errno) { return writevSlow(fd, a, b) }

func sysLook(fd int, events []unix.EpollEvent) (int, error) { return lookSlow(fd, events) }
