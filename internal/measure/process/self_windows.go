package process

import (
	"syscall"
	"time"
)

// ownCPU returns the CPU time of this process, or 0 if it is unknown.
func ownCPU() time.Duration {
	h, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(h, &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	return sinceZero(kernel) + sinceZero(user)
}

// sinceZero reads a count of 100 ns.
func sinceZero(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
