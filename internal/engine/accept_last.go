package engine

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// LastCall stops a listener without losing connections: those that wait in its queue are
// accepted, then it is closed. This needs a listener of package net for TCP or UNIX
// sockets. For other listeners, and as the zero value, a LastCall does nothing, and Make
// returns false.
type LastCall struct {
	ln    queueListener
	close func()
	until atomic.Pointer[time.Time] // nil before Make
}

// queueListener is a listener whose connections wait in a queue of the system.
type queueListener interface {
	net.Listener
	syscall.Conn
	SetDeadline(t time.Time) error
}

// NewLastCall returns a LastCall for ln. close must close ln, and may be called again
// after that.
func NewLastCall(ln net.Listener, close func()) *LastCall {
	k := &LastCall{close: close}
	switch ln := ln.(type) {
	case *net.TCPListener:
		k.ln = ln
	case *net.UnixListener:
		k.ln = ln
	}
	return k
}

// Make makes Accept and Event.Serve accept what waits, close the listener and return nil.
// It doesn't wait for them. They accept for d at most, since a queue may never become
// empty; later calls don't change that. Any goroutine may call Make, also before Accept
// or Serve is called. It returns false, and does nothing, if the listener is of another
// type.
func (k *LastCall) Make(d time.Duration) bool {
	if k.ln == nil {
		return false
	}
	until := time.Now().Add(d)
	k.until.CompareAndSwap(nil, &until)
	k.ln.SetDeadline(clock.LongAgo) // ends an Accept that waits
	return true
}

// Made reports whether Make was called. k may be nil.
func (k *LastCall) Made() bool { return k != nil && k.until.Load() != nil }

// accept calls handle with the connections that wait, and closes the listener. from is
// the listener or one that wraps it. Other goroutines or processes may accept at the same
// time and take a connection that was seen. So each Accept has a deadline.
func (k *LastCall) accept(from net.Listener, handle func(net.Conn), starved func(error)) {
	defer k.close()
	for until := *k.until.Load(); time.Now().Before(until); {
		if !anyQueued(k.ln) {
			return
		}
		k.ln.SetDeadline(time.Now().Add(queueWait))
		nc, err := from.Accept()
		switch {
		case err == nil:
			handle(nc)
		case IsTimeout(err):
			if !canLook {
				return
			}
		case !passing(err):
			return
		case !errors.Is(err, syscall.ECONNABORTED):
			starved(err)
			time.Sleep(minPause)
		}
	}
}
