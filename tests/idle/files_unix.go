//go:build unix

package main

import (
	"math"
	"syscall"
)

// maxFiles returns how many files the process may have open.
func maxFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return math.MaxInt
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
