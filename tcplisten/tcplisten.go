// Package tcplisten opens TCP listeners with options of the system that servers
// profit from: several listeners on one port, connections that are accepted once
// they have something to say, data with the first packet, a longer queue.
package tcplisten

import (
	"net"

	"github.com/galehttp/gale/internal/sockopt"
)

// Config says which options a listener has. The zero value asks for none.
//
// DeferAccept, FastOpen and Backlog make a listener faster, not different: on a
// system that doesn't have them they have no effect. ReusePort is an error
// there.
type Config struct {
	// ReusePort lets several listeners, of this process and of others of the
	// same user, share an address; the system spreads the connections over
	// them. It is SO_REUSEPORT on Linux, Darwin and the BSDs (SO_REUSEPORT_LB on
	// FreeBSD) and SO_REUSEADDR on Windows. All sockets that share the address must ask
	// for it.
	//
	// A connection belongs to a listener before it is accepted: those that
	// wait in the queue of a listener are reset when it is closed.
	ReusePort bool

	// DeferAccept keeps a connection from Accept until it has bytes to read
	// or about a second has passed (TCP_DEFER_ACCEPT, Linux). It suits
	// protocols in which the client speaks first, such as HTTP and TLS.
	DeferAccept bool

	// FastOpen accepts data with the first packet of a connection
	// (TCP_FASTOPEN, RFC 7413; Linux, where the system's settings allow it).
	// That data may arrive twice (RFC 7413 section 6.1), which does no harm where it is
	// the beginning of a TLS handshake or an idempotent request.
	FastOpen bool

	// Backlog is how many connections may wait for Accept, see listen(2). The
	// system caps it. 0 and less stand for the longest queue that the system
	// allows.
	Backlog int
}

// NewListener returns a listener on addr ("host:port") with the options of cfg.
// It is a *net.TCPListener. cfg isn't changed, and may be used again and
// concurrently.
//
// network must be "tcp4", "tcp6" or "tcp", otherwise the error is a
// net.UnknownNetworkError. "tcp6" with an unspecified address ("[::]:80",
// ":80") accepts connections over IPv4 as well, as fasthttp's does, where
// package net would not.
//
// If cfg asks for ReusePort and the system doesn't have it, the error wraps
// errors.ErrUnsupported.
func (cfg *Config) NewListener(network, addr string) (net.Listener, error) {
	return sockopt.Options(*cfg).Listen(network, addr)
}
