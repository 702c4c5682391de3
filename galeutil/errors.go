package galeutil

import (
	"net"
	"os"
)

// Errors of connections and listeners. Their texts are those of fasthttputil.
var (
	// ErrConnectionClosed is what Write returns once one of the ends was
	// closed, and what setting deadlines returns then. It is net.ErrClosed to
	// errors.Is.
	ErrConnectionClosed error = &closedError{"fasthttputil: connection closed"}
	// ErrInmemoryListenerClosed is what the methods of an InmemoryListener
	// return that was closed. It is net.ErrClosed to errors.Is.
	ErrInmemoryListenerClosed error = &closedError{"fasthttputil: inmemorylistener is already closed: use of closed network connection"}
	// ErrTimeout is what Read and Write return when their deadline has passed.
	// It is a net.Error whose Timeout is true, and os.ErrDeadlineExceeded to
	// errors.Is.
	ErrTimeout = &timeoutError{}
)

type closedError struct{ text string }

func (e *closedError) Error() string        { return e.text }
func (e *closedError) Is(target error) bool { return target == net.ErrClosed }

type timeoutError struct{}

func (*timeoutError) Error() string        { return "fasthttputil: timeout" }
func (*timeoutError) Timeout() bool        { return true }
func (*timeoutError) Temporary() bool      { return true }
func (*timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

var _ net.Error = ErrTimeout
