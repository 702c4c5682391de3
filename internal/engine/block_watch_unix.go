//go:build unix

package engine

import (
	"syscall"
	"time"
)

// peerGone waits until the peer has ended its side or broken the connection,
// or until quit is closed and the read deadline has passed.
func (c *blockConn) peerGone(quit chan struct{}) (gone, reset bool) {
	if c.raw == nil {
		return c.readAhead()
	}
	var n int
	var perr error
	var one [1]byte
	err := c.raw.Read(func(fd uintptr) bool {
		for {
			n, _, perr = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			if perr == syscall.EINTR {
				continue
			}
			return perr != syscall.EAGAIN
		}
	})
	switch {
	case err != nil && !IsTimeout(err):
		return true, true
	case err != nil: // pause has set a deadline in the past, or the program's own has passed
	case perr != nil:
		return true, true
	case n == 0:
		return true, false
	}
	// Bytes of the next message hide what comes after them: ask the socket.
	return c.poll(quit, func(gone, _ bool) bool { return gone })
}

// awaitReset waits, after the end of the peer's side, until the connection is reset, which
// it returns, or quit is closed.
func (c *blockConn) awaitReset(quit chan struct{}) bool {
	if c.raw == nil {
		return false
	}
	_, reset := c.poll(quit, func(_, reset bool) bool { return reset })
	return reset
}

// poll asks the socket at intervals whether the peer has gone, until enough returns true, quit is
// closed, or the socket can't tell.
func (c *blockConn) poll(quit chan struct{}, enough func(gone, reset bool) bool) (gone, reset bool) {
	tick := time.NewTicker(hiddenPoll)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return false, false
		default:
		}
		if gone, reset, ok := c.hungUp(); !ok || enough(gone, reset) {
			return gone, reset
		}
		select {
		case <-quit:
			return false, false
		case <-tick.C:
		}
	}
}

// hiddenPoll is the interval at which a connection with unread bytes, or one whose peer has ended
// its side, is asked whether the peer is still there.
const hiddenPoll = 100 * time.Millisecond
