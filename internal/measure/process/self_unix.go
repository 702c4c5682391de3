//go:build unix

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
