//go:build unix

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// queueWait is how long Accept waits for a connection that was seen: another goroutine or
// process may have accepted it first.
const queueWait = 50 * time.Millisecond

const canLook = true

// anyQueued reports whether a connection waits to be accepted.
func anyQueued(ln queueListener) (some bool) {
	raw, err := ln.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(p[:], 0)
			if err == unix.EINTR {
				continue
			}
			some = n > 0 && p[0].Revents&unix.POLLIN != 0
			return
		}
	})
	return some && err == nil
}
