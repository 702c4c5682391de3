package engine

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Bounds of the pause after an Accept that failed for want of something.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Accept hands the connections of ln to handle, which must not block, until ln
// fails for good, and returns that error. When the process is out of
// descriptors or memory, it calls starved with the error and tries again after
// a pause (doubling from 5 ms to 1 s), so that a full table of descriptors
// neither ends the server nor makes it spin.
//
// last makes it end; it may be nil.
func Accept(ln net.Listener, last *LastCall, handle func(net.Conn), starved func(error)) error {
	var pause time.Duration
	for {
		nc, err := ln.Accept()
		if err == nil {
			pause = 0
			handle(nc)
			continue
		}
		if last.Made() {
			last.accept(ln, handle, starved)
			return nil
		}
		if !passing(err) {
			return err
		}
		if !errors.Is(err, syscall.ECONNABORTED) {
			starved(err)
		}
		pause = min(max(2*pause, minPause), maxPause)
		time.Sleep(pause)
	}
}

// passing reports whether Accept may work again after err: descriptors or memory ran out,
// or the peer reset the connection before it was accepted (ECONNABORTED).
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary() && !errors.Is(err, net.ErrClosed)
}
