// Package reuseport opens TCP listeners that share their port with other listeners
// (SO_REUSEPORT). So several processes, or several listeners of one process, accept
// connections in parallel without sharing one queue.
//
//	ln, err := reuseport.Listen("tcp", ":8080")
//	if err != nil {
//		log.Fatal(err)
//	}
//	log.Fatal(gale.Serve(ln, handler))
package reuseport

import (
	"errors"
	"net"

	"github.com/galehttp/gale/tcplisten"
)

// ErrNoReusePort is returned, as a pointer, if the system can't have several listeners on
// one port.
type ErrNoReusePort struct {
	err error
}

// Error says what the system lacks.
func (e *ErrNoReusePort) Error() string {
	text := "reuseport: this system has no SO_REUSEPORT: listen with net.Listen instead"
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Unwrap returns the error of the system, which is or wraps errors.ErrUnsupported.
func (e *ErrNoReusePort) Unwrap() error { return e.err }

// Listen returns a listener on addr ("host:port") with SO_REUSEPORT, which is a
// *net.TCPListener. Further calls with the same address, from this process or another one
// of the same user, return listeners that share the address. The system spreads the
// connections over them.
//
// If the system has them, TCP_DEFER_ACCEPT (connections are accepted when they have bytes
// to read) and TCP_FASTOPEN (RFC 7413) are set too. So use the listener for protocols in
// which the client sends first.
//
// network must be "tcp4", "tcp6" or "tcp"; see tcplisten.Config.NewListener. If the
// system has no SO_REUSEPORT, the error is an *ErrNoReusePort. If another socket listens
// on addr without SO_REUSEPORT, it is the system's "address already in use".
func Listen(network, addr string) (net.Listener, error) {
	if _, err := net.ResolveTCPAddr(network, addr); err != nil {
		return nil, err // unchanged: it says everything
	}
	cfg := tcplisten.Config{ReusePort: true, DeferAccept: true, FastOpen: true}
	ln, err := cfg.NewListener(network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &ErrNoReusePort{err: err}
	}
	return ln, err
}
