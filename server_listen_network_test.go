package gale

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// hasIPv6 reports whether the system has the loopback address of IPv6.
func hasIPv6() bool {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// TestListenNetworks proves that the server listens with IPv4 and IPv6 on an address
// without a host, and with only one of them on an address that has its family. Without
// defaultDualStack, as for programs that use the module under fasthttp's name, it listens
// with IPv4 only.
func TestListenNetworks(t *testing.T) {
	if !hasIPv6() {
		t.Skip("no IPv6")
	}
	defer func(saved bool) { defaultDualStack = saved }(defaultDualStack)
	for _, c := range []struct {
		addr       string
		dual       bool
		four, six  bool
		wantsError bool
	}{
		{addr: ":0", dual: true, four: true, six: true},
		{addr: "[::]:0", dual: true, four: true, six: true},
		{addr: "0.0.0.0:0", dual: true, four: true},
		{addr: "127.0.0.1:0", dual: true, four: true},
		{addr: "[::1]:0", dual: true, six: true},
		{addr: "localhost:0", dual: true, four: true},
		{addr: ":0", four: true},
		{addr: "0.0.0.0:0", four: true},
		{addr: "[::1]:0", wantsError: true},
	} {
		defaultDualStack = c.dual
		for _, cfg := range []ListenConfig{{}, {Backlog: 10}} {
			s := &Server{ListenConfig: cfg}
			ln, err := s.listenTCP(c.addr)
			if err != nil {
				if !c.wantsError {
					t.Errorf("%s, dual %v: %v", c.addr, c.dual, err)
				}
				continue
			}
			if c.wantsError {
				t.Errorf("%s, dual %v: listens on %s", c.addr, c.dual, ln.Addr())
			}
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			for host, want := range map[string]bool{"127.0.0.1": c.four, "::1": c.six} {
				conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
				if err == nil {
					conn.Close()
				} else if !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("%s: %v", host, err)
				}
				if (err == nil) != want {
					t.Errorf("%s, dual %v, %+v: %s answers: %v, want %v", c.addr, c.dual, cfg, host, err == nil, want)
				}
			}
			ln.Close()
		}
	}
}
