//go:build darwin || freebsd

package upload

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes others than the superuser may still write to the file
// system of f.
func freeSpace(f *os.File, _ string) (free int64, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	var st unix.Statfs_t
	if cerr := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &st) }); cerr != nil || err != nil {
		return 0, false
	}
	avail := int64(st.Bavail) // it is negative in the superuser's reserve on FreeBSD
	return blocksFree(uint64(max(avail, 0)), uint64(st.Bsize), uint64(st.Ffree), uint64(st.Files)), true
}
