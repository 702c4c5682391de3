package engine

import "golang.org/x/sys/unix"

// hungUp asks the socket whether its peer has gone, even if there are unread bytes. ok is
// false if the socket can't tell.
func (c *blockConn) hungUp() (gone, reset, ok bool) {
	err := c.raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if _, err := unix.Poll(p, 0); err != nil {
			ok = err == unix.EINTR
			return
		}
		ok = true
		reset = p[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		gone = reset || p[0].Revents&unix.POLLRDHUP != 0
	})
	return gone, reset, ok && err == nil
}
