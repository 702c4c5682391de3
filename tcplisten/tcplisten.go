// Package tcplisten opens TCP listeners with options of the system that servers
// profit from: several listeners on one port, connections that are accepted once
// they have something to say, data with the first packet, a longer queue.
package tcplisten

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/galehttp/gale/internal/sockopt"
)

// Config says which options a listener has. The zero value asks for none.
//
// DeferAccept, FastOpen and Backlog make a listener faster, not different: on a
// system that doesn't have them they are of no effect. ReusePort is an error
// there.
type Config struct {
	// ReusePort lets several listeners, of this process and of others of the
	// same user, share an address; the system spreads the connections over
	// them. It is SO_REUSEPORT on Linux, Darwin and the BSDs (SO_REUSEPORT_LB on
	// FreeBSD) and SO_REUSEADDR on Windows. All who share the address must ask
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
	// That data may arrive twice (RFC 7413 section 6.1), which is no concern
	// where it is the beginning of a TLS handshake or an idempotent request.
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
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return control(c, func(fd uintptr) error { return cfg.beforeBind(network, fd) })
	}}
	lc.SetMultipathTCP(false) // it knows only some of the options
	ln, err := lc.Listen(context.Background(), network, addr)
	if err != nil {
		return nil, err
	}
	c, err := ln.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = control(c, cfg.afterListen)
	}
	if err != nil {
		ln.Close()
		return nil, &net.OpError{Op: "listen", Net: network, Addr: ln.Addr(), Err: err}
	}
	return ln, nil
}

// beforeBind sets what decides on how the socket is bound.
func (cfg *Config) beforeBind(network string, fd uintptr) error {
	if network == "tcp6" {
		if err := optional(sockopt.DualStack(fd)); err != nil {
			return err
		}
	}
	if cfg.ReusePort {
		return sockopt.ReusePort(fd)
	}
	return nil
}

// afterListen sets what makes the listener faster.
func (cfg *Config) afterListen(fd uintptr) error {
	if cfg.DeferAccept {
		if err := optional(sockopt.DeferAccept(fd)); err != nil {
			return err
		}
	}
	if cfg.FastOpen {
		if err := optional(sockopt.FastOpen(fd)); err != nil {
			return err
		}
	}
	if cfg.Backlog > 0 {
		return optional(sockopt.Backlog(fd, cfg.Backlog))
	}
	return nil
}

// optional lets the system do without an option.
func optional(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// control calls f with the descriptor of c.
func control(c syscall.RawConn, f func(fd uintptr) error) error {
	var err error
	if cerr := c.Control(func(fd uintptr) { err = f(fd) }); cerr != nil {
		return cerr
	}
	return err
}
