package sockopt

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// Options are options of listening TCP sockets, see tcplisten.Config.
type Options struct {
	ReusePort, DeferAccept, FastOpen bool

	Backlog int
}

// Listen returns a listener on addr, see tcplisten.Config.NewListener.
func (o Options) Listen(network, addr string) (net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return control(c, func(fd uintptr) error { return o.beforeBind(network, fd) })
	}}
	lc.SetMultipathTCP(false) // MPTCP supports only some of the options
	ln, err := lc.Listen(context.Background(), network, addr)
	if err != nil {
		return nil, err
	}
	c, err := ln.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = control(c, o.afterListen)
	}
	if err != nil {
		ln.Close()
		return nil, &net.OpError{Op: "listen", Net: network, Addr: ln.Addr(), Err: err}
	}
	return ln, nil
}

// NetworkFor returns the network for listening on addr: "tcp4" instead of "tcp" if
// the host is an IPv4 address. With "tcp", package net would listen on all IPv6
// addresses, too, for 0.0.0.0.
func NetworkFor(network, addr string) string {
	if network != "tcp" {
		return network
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return network
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return network
}

// beforeBind sets the options that must be set before the socket is bound.
func (o Options) beforeBind(network string, fd uintptr) error {
	if network == "tcp6" {
		if err := optional(DualStack(fd)); err != nil {
			return err
		}
	}
	if o.ReusePort {
		return ReusePort(fd)
	}
	return nil
}

// afterListen sets the options that make the listener faster.
func (o Options) afterListen(fd uintptr) error {
	if o.DeferAccept {
		if err := optional(DeferAccept(fd)); err != nil {
			return err
		}
	}
	if o.FastOpen {
		if err := optional(FastOpen(fd)); err != nil {
			return err
		}
	}
	if o.Backlog > 0 {
		return optional(Backlog(fd, o.Backlog))
	}
	return nil
}

// optional turns the error for an unsupported option into nil.
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
