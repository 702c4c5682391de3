package engine

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Bounds of the pause after an Accept that failed because a resource ran out.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Accept accepts connections from ln and calls handle, which must not block, with each.
// It returns when ln fails permanently, with that error. When the process is out of
// descriptors or memory, it calls starved with the error and tries again after a pause
// that doubles from 5 ms to 1 s. So a full table of descriptors neither ends the server
// nor makes it spin.
//
// After last.Make it accepts what waits in the queue and returns nil. last may be nil.
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
