package main

import (
	"errors"
	"flag"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// defaultPort is tried first if no port is given, and then the ports after it:
// maxPorts in all.
const (
	defaultPort = 8080
	maxPorts    = 20
)

// addressFlags say on which TCP address to listen.
type addressFlags struct {
	addr, port, p nonEmpty // the flags; "" if they aren't given

	host  string // "" for all addresses
	ports []int  // tried in this order; more than one only if none is given
}

func (a *addressFlags) flags(fs *flag.FlagSet) {
	fs.Var(&a.addr, "addr", "listen on `host:port`; without a host on all addresses, without a port as -port says")
	fs.Var(&a.port, "port", "listen on this `port`; 0 means a free one (default 8080, or the next free one)")
	fs.Var(&a.p, "p", "the same as -port `port`")
}

// given returns the name of a flag that is set, or "".
func (a *addressFlags) given() string {
	switch {
	case a.addr != "":
		return "-addr"
	case a.port != "":
		return "-port"
	case a.p != "":
		return "-p"
	}
	return ""
}

// resolve sets host and ports.
func (a *addressFlags) resolve() error {
	host, port, err := splitAddress(string(a.addr))
	if err != nil {
		return err
	}
	switch {
	case a.p != "" && a.port != "":
		return usagef("-p and -port are the same: give one of them")
	case a.p+a.port != "" && port != "":
		return usagef("-addr %s has a port already: leave %s out", a.addr, (&addressFlags{port: a.port, p: a.p}).given())
	case port == "":
		port = string(a.p + a.port)
	}
	a.host = host
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return usagef("port %q isn't a number from 0 to 65535; write -p port or -addr host:port", port)
		}
		a.ports = []int{int(n)}
		return nil
	}
	a.ports = nil
	for n := range maxPorts {
		a.ports = append(a.ports, defaultPort+n)
	}
	return nil
}

// splitAddress splits the value of -addr: host:port, :port, a port, or a host without a
// port, which is an IP address, in brackets or not, or "localhost".
func splitAddress(s string) (host, port string, err error) {
	if s == "" || strings.Trim(s, "0123456789") == "" {
		return "", s, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if _, err := netip.ParseAddr(bare); err == nil || s == "localhost" {
		return bare, "", nil
	}
	host, port, err = net.SplitHostPort(s)
	if err != nil || port == "" {
		return "", "", usagef("can't listen on %q: write -addr as host:port, :port or port", s)
	}
	return host, port, nil
}

// nonEmpty is a flag whose value can't be empty. In a script an empty value often comes
// from a variable that isn't set, and the default would open another port.
type nonEmpty string

func (f *nonEmpty) String() string { return string(*f) }

func (f *nonEmpty) Set(s string) error {
	if s == "" {
		return errors.New("it can't be empty; leave the flag out for the default")
	}
	*f = nonEmpty(s)
	return nil
}

// isWildcard reports whether a listener on host has all addresses.
func isWildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}
