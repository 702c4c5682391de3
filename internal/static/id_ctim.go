//go:build linux || dragonfly || openbsd

package static

import "syscall"

func statToID(st *syscall.Stat_t) fileID {
	return fileID{
		exists: true, mode: uint32(st.Mode), dev: uint64(st.Dev), ino: uint64(st.Ino), size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}
