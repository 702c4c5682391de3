//go:build unix

package engine_test

import (
	"syscall"
	"time"
)

// cpuTime returns the time that the process has computed for.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
