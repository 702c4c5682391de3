package engine

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// LastCall ends the accepting from a listener without losing connections: what waits in
// its queue is accepted, then it is closed. This needs a listener of package net for TCP
// or UNIX sockets. The zero value is for others, which can't be told to end so.
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

// NewLastCall returns a LastCall for ln. close is what closes it; it may be called again
// when it is closed.
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
// It doesn't wait for them. The first call says for how long they may accept, since a
// queue may never become empty. Any goroutine may call it, also before they are called. It
// returns false, and does nothing, if the listener can't be told.
func (k *LastCall) Make(d time.Duration) bool {
	if k.ln == nil {
		return false
	}
	until := time.Now().Add(d)
	k.until.CompareAndSwap(nil, &until)
	k.ln.SetDeadline(longAgo) // ends an Accept that waits
	return true
}

// Made reports whether Make was called. k may be nil.
func (k *LastCall) Made() bool { return k != nil && k.until.Load() != nil }

// accept hands the connections that wait to handle, and closes the listener. from is the
// listener or one on top of it. Others may accept at the same time: so Accept has a
// deadline, although something was there.
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
