//go:build linux || dragonfly || openbsd || darwin || freebsd || netbsd

package static

import (
	"io/fs"
	"syscall"
)

// systemID returns the fileID of a file of the system. ok is false for others.
func systemID(info fs.FileInfo) (id fileID, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return statToID(st), true
}
