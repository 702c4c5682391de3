package gale

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/galehttp/gale/internal/sockopt"
)

// ListenConfig has options for the sockets that a Server opens; see Server.ListenConfig.
// The zero value sets none. Package tcplisten opens listeners with the same options for
// Server.Serve.
//
// DeferAccept, FastOpen and Backlog only make a listener faster. On a system that doesn't
// have them they have no effect. ReusePort is an error on a system that doesn't have it.
type ListenConfig struct {
	// ReusePort lets several listeners, of this process and of others of the same user,
	// share an address (SO_REUSEPORT). All of them must set it. The system spreads the
	// connections over them.
	ReusePort bool

	// DeferAccept accepts a connection only when it has bytes to read or about a second
	// has passed (TCP_DEFER_ACCEPT, Linux).
	DeferAccept bool

	// FastOpen accepts data in the first packet of a connection (TCP_FASTOPEN, RFC 7413;
	// on Linux, if the system's settings allow it). A request in that data may arrive
	// twice (RFC 7413 section 6.1).
	FastOpen bool

	// Backlog is how many connections may wait to be accepted; see listen(2). The system
	// limits it. 0 or negative means the longest queue that the system allows.
	Backlog int
}

// listenTCP listens on the TCP address addr, as ListenConfig says.
func (s *Server) listenTCP(addr string) (net.Listener, error) {
	s.awaitDeserted()
	network := "tcp4"
	if defaultDualStack {
		network = sockopt.NetworkFor("tcp", addr)
	}
	if s.ListenConfig == (ListenConfig{}) {
		return net.Listen(network, addr)
	}
	ln, err := sockopt.Options(s.ListenConfig).Listen(network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("gale: this system has no SO_REUSEPORT: leave Server.ListenConfig.ReusePort unset: %w", err)
	}
	return ln, err
}

// listenUNIX listens on the UNIX socket addr. It removes a socket at addr first.
func (s *Server) listenUNIX(addr string, mode os.FileMode) (net.Listener, error) {
	s.awaitDeserted()
	if fi, err := os.Lstat(addr); err == nil && fi.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("gale: %s exists and is not a socket", addr)
	}
	if err := os.Remove(addr); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gale: removing the old socket: %w", err)
	}
	ln, err := sockopt.ListenUNIX(addr, mode, s.ListenConfig.Backlog)
	if err != nil {
		return nil, fmt.Errorf("gale: %w", err)
	}
	return ln, nil
}
