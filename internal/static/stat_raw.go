//go:build linux && (amd64 || arm64)

package static

import (
	"syscall"
	"unsafe"
)

// statID returns the fileID of what is at path, which ends in a zero byte. Links are
// followed. It doesn't allocate: package syscall copies a path to add the zero byte.
func statID(path string) fileID {
	var st syscall.Stat_t
	const atCurrentDir = -100 // the path is absolute; AT_FDCWD
	dir := atCurrentDir
	for {
		_, _, err := syscall.Syscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(unsafe.StringData(path))), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		switch err {
		case 0:
			return statToID(&st)
		case syscall.EINTR:
		default:
			return fileID{}
		}
	}
}
