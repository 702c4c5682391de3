//go:build unix

package load

import (
	"math"
	"syscall"
)

// raiseFiles makes the limit of open files at least need, if the system allows it, and
// returns the limit.
func raiseFiles(need uint64) uint64 {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return math.MaxUint64
	}
	if uint64(r.Cur) < need && uint64(r.Cur) < uint64(r.Max) {
		r.Cur = r.Max
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
			_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
		}
	}
	return uint64(r.Cur)
}
