package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/dial"
	"github.com/galehttp/gale/tests/harness/peers"
)

// refusingPort returns a port on which no one listens until the test ends. It is that of
// a client's connection, so the system doesn't give it to a listener.
func refusingPort(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+peers.DialTarget(t, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return port
}

// Addresses of a host take turns, and each lookup serves many dials.
func TestDialerRoundRobin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants all of 127.0.0.0/8")
	}
	port := peers.DialTarget(t, "0.0.0.0:0")
	var lookups atomic.Int32
	d := &gale.TCPDialer{Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		lookups.Add(1)
		return peers.IPAddrs("127.0.0.1", "127.0.0.2", "127.0.0.3"), nil
	})}
	count := map[string]int{}
	for range 9 {
		conn, err := d.Dial("Example.org:" + port)
		count[peers.Dialed(t, conn, err)]++
	}
	if fmt.Sprint(count) != "map[127.0.0.1:3 127.0.0.2:3 127.0.0.3:3]" || lookups.Load() != 1 {
		t.Fatalf("dialed %v with %d lookups, want three times each and one lookup", count, lookups.Load())
	}
	d.FlushDNSCache()
	conn, err := d.Dial("example.ORG:" + port)
	peers.Dialed(t, conn, err)
	if lookups.Load() != 2 {
		t.Fatalf("%d lookups after a flush, want 2", lookups.Load())
	}
}

// If an address refuses, the next one is tried at once. If all refuse, the error says
// what was dialed.
func TestDialerRefused(t *testing.T) {
	port := refusingPort(t)
	d := &gale.TCPDialer{Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return peers.IPAddrs("::1", "127.0.0.1"), nil
	})}
	before := runtime.NumGoroutine()
	_, err := d.DialDualStack("example.org:" + port)
	var up *gale.ErrDialWithUpstream
	if !errors.As(err, &up) || up.Upstream != "127.0.0.1:"+port {
		t.Fatalf("got %v, want an error with the last address", err)
	}
	if errors.Is(err, gale.ErrDialTimeout) || !strings.HasPrefix(err.Error(), "gale: error when dialing 127.0.0.1:"+port+": dial tcp ") {
		t.Fatalf("got %v, want what the system said", err)
	}
	peers.WantGoroutines(t, before)
}

// Invalid addresses lead to an error before anything is dialed.
func TestDialerAddresses(t *testing.T) {
	d := &gale.TCPDialer{Resolver: peers.ResolverFunc(func(_ context.Context, host string) ([]net.IPAddr, error) {
		switch host {
		case "six":
			return peers.IPAddrs("::1"), nil
		case "none":
			return nil, nil
		case "panic":
			panic("oh")
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	})}
	for _, tt := range []struct{ network, addr, want string }{
		{"tcp", "", "missing port in address"},
		{"tcp", "foo", "address foo: missing port in address"},
		{"tcp", "a:b:1", "address a:b:1: too many colons in address"},
		{"tcp", "foo:http", `strconv.Atoi: parsing "http": invalid syntax`},
		{"tcp", "foo:", `strconv.Atoi: parsing "": invalid syntax`},
		{"tcp4", "127.0.0.1:99999", "gale: error when dialing 127.0.0.1:99999: dial tcp4: address 99999: invalid port"},
		{"tcp4", "127.0.0.1:-1", "gale: error when dialing 127.0.0.1:-1: dial tcp4: address -1: invalid port"},
		{"tcp4", "127.0.0.1:+1", "gale: error when dialing 127.0.0.1:+1: dial tcp4: address +1: invalid port"},
		{"tcp", "foo:1", "lookup foo: no such host"},
		{"tcp", ":1", "lookup : no such host"},
		{"tcp4", "[::1]:1", dial.ErrNoAddresses.Error()},
		{"tcp6", "127.0.0.1:1", dial.ErrNoAddresses.Error()},
		{"tcp6", "[::ffff:127.0.0.1]:1", dial.ErrNoAddresses.Error()},
		{"tcp4", "six:1", dial.ErrNoAddresses.Error()},
		{"tcp", "none:1", dial.ErrNoAddresses.Error()},
		{"udp", "foo:1", "dial udp: unknown network udp"},
		{"tcp", "panic:1", `gale: resolver panicked looking up "panic": oh`},
	} {
		_, err := d.DialContext(t.Context(), tt.network, tt.addr)
		if err == nil {
			t.Fatalf("%s %q: no error", tt.network, tt.addr)
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.network, tt.addr, got, tt.want)
		}
	}
}

// Connections come from the local address that is set, and it decides the family.
func TestDialerLocalAddr(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants all of 127.0.0.0/8")
	}
	port := peers.DialTarget(t, "127.0.0.1:0")
	d := &gale.TCPDialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)},
		Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			return peers.IPAddrs("::1", "127.0.0.1"), nil
		}),
	}
	conn, err := d.DialDualStack("example.org:" + port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.LocalAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.9" {
		t.Fatalf("dialed from %s", got)
	}
}

// With DisableDNSResolution package net resolves names, and the Resolver isn't asked.
func TestDialerWithoutResolution(t *testing.T) {
	port := peers.DialTarget(t, "127.0.0.1:0")
	d := &gale.TCPDialer{DisableDNSResolution: true, Resolver: peers.ResolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		t.Error("the resolver was asked")
		return nil, errors.New("no")
	})}
	for _, addr := range []string{"127.0.0.1:" + port, "localhost:" + port} {
		conn, err := d.Dial(addr)
		peers.Dialed(t, conn, err)
	}
}
