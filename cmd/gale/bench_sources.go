package main

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// maxSources bounds the addresses of -source.
const maxSources = 1 << 16

// sourceAddrs returns the addresses of -source. All of them belong to this machine.
func (cfg *benchConfig) sourceAddrs() ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range cfg.sources {
		addrs, err := parseSource(text)
		if err != nil {
			return nil, err
		}
		if all = append(all, addrs...); len(all) > maxSources {
			return nil, usagef("--source %s: use at most %d addresses", text, maxSources)
		}
	}
	for _, addr := range all {
		if err := checkLocal(addr); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseSource reads an address, or a network, of which it returns the addresses of hosts.
func parseSource(text string) ([]netip.Addr, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, usagef("--source %q: write an address or a network, as in 127.0.0.2 or 127.0.0.0/28", text)
		}
		return []netip.Addr{addr}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, usagef("--source %q: write an address or a network, as in 127.0.0.2 or 127.0.0.0/28", text)
	}
	prefix = prefix.Masked()
	if host := prefix.Addr().BitLen() - prefix.Bits(); host > 16 {
		return nil, usagef("--source %q: use a network of at most %d addresses, /%d", text, maxSources, prefix.Addr().BitLen()-16)
	}
	var addrs []netip.Addr
	for addr := prefix.Addr(); prefix.Contains(addr); addr = addr.Next() {
		addrs = append(addrs, addr)
	}
	if prefix.Addr().Is4() && len(addrs) > 2 {
		addrs = addrs[1 : len(addrs)-1] // the network itself, and its broadcast address
	}
	return addrs, nil
}

// checkLocal reports whether this machine has an address.
func checkLocal(addr netip.Addr) error {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		return usagef("--source: this machine can't connect from %s: %s", addr, "give it the address, for example by 'ip addr add', or use another one")
	}
	return ln.Close()
}
