package galeutil

import (
	"net"
	"os"
)

// Errors of connections and listeners. Their texts are those of fasthttputil.
var (
	// ErrConnectionClosed is returned by Write, and by the methods that set deadlines,
	// after one of the ends was closed. errors.Is(ErrConnectionClosed, net.ErrClosed) is
	// true.
	ErrConnectionClosed error = &closedError{"fasthttputil: connection closed"}
	// ErrInmemoryListenerClosed is returned by the methods of an InmemoryListener that
	// was closed. errors.Is(ErrInmemoryListenerClosed, net.ErrClosed) is true.
	ErrInmemoryListenerClosed error = &closedError{"fasthttputil: inmemorylistener is already closed: use of closed network connection"}
	// ErrTimeout is returned by Read and Write when their deadline has passed. It is a
	// net.Error whose Timeout method returns true, and errors.Is(ErrTimeout,
	// os.ErrDeadlineExceeded) is true.
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
