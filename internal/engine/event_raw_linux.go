//go:build !race

package engine

import (
	"runtime"
	"syscall"

	"github.com/galehttp/gale/internal/bytesconv"
)

// maxRaw is the size up to which reads and writes don't tell the scheduler that
// they may take long: they don't, and it saves two times some 50 ns for each
// request. p lives on the heap: it came through an interface.
const maxRaw = 64 << 10

func sysRead(fd int32, p []byte) (int, syscall.Errno) {
	if len(p) > maxRaw || len(p) == 0 {
		return readSlow(fd, p)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), bytesconv.Address(p), uintptr(len(p)))
	runtime.KeepAlive(p)
	return int(n), errno
}

func sysWrite(fd int32, p []byte) (int, syscall.Errno) {
	if len(p) > maxRaw || len(p) == 0 {
		return writeSlow(fd, p)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), bytesconv.Address(p), uintptr(len(p)))
	runtime.KeepAlive(p)
	return int(n), errno
}
