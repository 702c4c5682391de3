//go:build race

package engine

import "syscall"

func sysRead(fd int32, p []byte) (int, syscall.Errno)  { return readSlow(fd, p) }
func sysWrite(fd int32, p []byte) (int, syscall.Errno) { return writeSlow(fd, p) }
