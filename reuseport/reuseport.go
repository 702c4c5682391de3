// Package reuseport opens TCP listeners that share their port with others
// (SO_REUSEPORT), so that several processes, or several listeners of one, accept
// connections side by side without contending for one queue.
package reuseport

import (
	"errors"
	"net"

	"github.com/galehttp/gale/tcplisten"
)

// ErrNoReusePort is returned, as a pointer, where the system can't have several
// listeners on one port.
type ErrNoReusePort struct {
	err error
}

// Error returns what is missing.
func (e *ErrNoReusePort) Error() string {
	text := "reuseport: this system has no SO_REUSEPORT: listen with net.Listen instead"
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Unwrap returns the reason that the system gave. It is errors.ErrUnsupported
// or wraps it. Not in fasthttp.
func (e *ErrNoReusePort) Unwrap() error { return e.err }

// Listen returns a listener on addr ("host:port") with SO_REUSEPORT: every
// further call with the same address, from this process or another one of the
// same user, returns a listener that shares it. The system spreads the
// connections over them. It is a *net.TCPListener.
//
// Where the system has them, TCP_DEFER_ACCEPT (connections are accepted once
// they have bytes to read) and TCP_FASTOPEN (RFC 7413) are on as well: the
// listener is for protocols in which the client speaks first.
//
// network must be "tcp4", "tcp6" or "tcp", see tcplisten.Config.NewListener.
// The error is an *ErrNoReusePort if the system has no SO_REUSEPORT. It is an
// ordinary one, "address already in use", if another socket listens on addr without
// SO_REUSEPORT.
func Listen(network, addr string) (net.Listener, error) {
	if _, err := net.ResolveTCPAddr(network, addr); err != nil {
		return nil, err // as it is: it says all
	}
	cfg := tcplisten.Config{ReusePort: true, DeferAccept: true, FastOpen: true}
	ln, err := cfg.NewListener(network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &ErrNoReusePort{err: err}
	}
	return ln, err
}
