// Package tcplisten opens TCP listeners with socket options that are useful for servers:
// several listeners on one port, connections that are accepted only when they have bytes
// to read, data in the first packet, a longer queue.
//
//	cfg := tcplisten.Config{DeferAccept: true, Backlog: 4096}
//	ln, err := cfg.NewListener("tcp", ":8080")
//	if err != nil {
//		log.Fatal(err)
//	}
//	log.Fatal(gale.Serve(ln, handler))
package tcplisten

import (
	"net"

	"github.com/galehttp/gale/internal/sockopt"
)

// Config has the options of a listener. The zero value sets none.
//
// DeferAccept, FastOpen and Backlog only make a listener faster. On a system that doesn't
// have them they have no effect. ReusePort is an error on a system that doesn't have it.
type Config struct {
	// ReusePort lets several listeners, of this process and of others of the same user,
	// share an address. The system spreads the connections over them. It is SO_REUSEPORT
	// on Linux, Darwin and the BSDs (SO_REUSEPORT_LB on FreeBSD) and SO_REUSEADDR on
	// Windows. All sockets that share the address must set it.
	//
	// A connection belongs to one listener before it is accepted. When a listener is
	// closed, connections in its queue are reset.
	ReusePort bool

	// DeferAccept makes Accept return a connection only when it has bytes to read or
	// about a second has passed (TCP_DEFER_ACCEPT, Linux). Use it for protocols in which
	// the client sends first, such as HTTP and TLS.
	DeferAccept bool

	// FastOpen accepts data in the first packet of a connection (TCP_FASTOPEN, RFC 7413;
	// on Linux, if the system's settings allow it). That data may arrive twice (RFC 7413
	// section 6.1), which does no harm if it is the beginning of a TLS handshake or an
	// idempotent request.
	FastOpen bool

	// Backlog is how many connections may wait for Accept; see listen(2). The system
	// limits it. 0 or negative means the longest queue that the system allows.
	Backlog int
}

// NewListener returns a listener on addr ("host:port") with the options of cfg. It is a
// *net.TCPListener. cfg isn't changed; it may be used again, and concurrently.
//
// network must be "tcp4", "tcp6" or "tcp"; otherwise the error is a
// net.UnknownNetworkError. As in fasthttp, and unlike in package net, "tcp6" with an
// unspecified address ("[::]:80", ":80") also accepts connections over IPv4.
//
// If cfg.ReusePort is set and the system doesn't have it, the error wraps
// errors.ErrUnsupported.
func (cfg *Config) NewListener(network, addr string) (net.Listener, error) {
	return sockopt.Options(*cfg).Listen(network, addr)
}
