//go:build !race

package engine

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/pool"
)

// maxRaw is the largest size for which reads and writes don't tell the scheduler about
// the system call. They are short, and not telling saves twice about 50 ns for each
// request. For longer calls that is no gain: a call that the scheduler's monitor sees
// twice, 20 us apart, loses its processor, and another thread goes on. A write of 64 KiB
// takes about that long. p is on the heap, since it came through an interface.
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

// vectors are the arguments of sysWritev: two addresses, each with a length (readv(2)).
var vectors pool.Pool

func sysWritev(fd int32, a, b []byte) (int, syscall.Errno) {
	if len(a) > maxRaw || len(a) == 0 || len(b) > maxRaw || len(b) == 0 {
		return writevSlow(fd, a, b)
	}
	v, ok := vectors.Get().(*[4]uintptr)
	if !ok {
		v = new([4]uintptr)
	}
	*v = [4]uintptr{bytesconv.Address(a), uintptr(len(a)), bytesconv.Address(b), uintptr(len(b))}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, uintptr(fd), bytesconv.Address(v[:]), 2)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	vectors.Put(v)
	return int(n), errno
}

// sysLook is lookSlow, except that it doesn't tell the scheduler.
func sysLook(fd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(fd), bytesconv.Address(events), uintptr(len(events)), 0, 0, 0)
	runtime.KeepAlive(events)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
