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
	size := st.Frsize
	if size == 0 {
		size = st.Bsize
	}
	return blocksFree(st.Bavail, uint64(size), st.Ffree, st.Files), true
}
