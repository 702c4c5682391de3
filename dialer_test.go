package gale

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/dial"
)

// resolverFunc is a Resolver.
type resolverFunc func(ctx context.Context, host string) ([]net.IPAddr, error)

func (f resolverFunc) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return f(ctx, host)
}

// ipAddrs makes the answer of a resolver from texts.
func ipAddrs(texts ...string) []net.IPAddr {
	addrs := make([]net.IPAddr, len(texts))
	for i, s := range texts {
		addrs[i].IP = net.ParseIP(s)
	}
	return addrs
}

// dialTarget listens on addr, whose port may be 0, and keeps the connections that it
// accepts until the test ends. It returns the port.
func dialTarget(t *testing.T, addr string) string {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("cannot listen on %s: %v", addr, err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// refusingPort returns a port on which no one listens until the test ends. It is that of
// a client's connection, so the system doesn't give it to a listener.
func refusingPort(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+dialTarget(t, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return port
}

// dialed closes conn and returns the host to which it was connected.
func dialed(t *testing.T, conn net.Conn, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return host
}

// wantGoroutines waits until no more goroutines run than before. It proves only that none
// is left over. before may include goroutines of earlier tests, so it may return while
// some of this test still run.
func wantGoroutines(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, allStacks())
}

// Addresses of a host take turns, and each lookup serves many dials.
func TestDialerRoundRobin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants all of 127.0.0.0/8")
	}
	port := dialTarget(t, "0.0.0.0:0")
	var lookups atomic.Int32
	d := &TCPDialer{Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		lookups.Add(1)
		return ipAddrs("127.0.0.1", "127.0.0.2", "127.0.0.3"), nil
	})}
	count := map[string]int{}
	for range 9 {
		conn, err := d.Dial("Example.org:" + port)
		count[dialed(t, conn, err)]++
	}
	if fmt.Sprint(count) != "map[127.0.0.1:3 127.0.0.2:3 127.0.0.3:3]" || lookups.Load() != 1 {
		t.Fatalf("dialed %v with %d lookups, want three times each and one lookup", count, lookups.Load())
	}
	d.FlushDNSCache()
	conn, err := d.Dial("example.ORG:" + port)
	dialed(t, conn, err)
	if lookups.Load() != 2 {
		t.Fatalf("%d lookups after a flush, want 2", lookups.Load())
	}
}

// If an address refuses, the next one is tried at once. If all refuse, the error says
// what was dialed.
func TestDialerRefused(t *testing.T) {
	port := refusingPort(t)
	d := &TCPDialer{Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return ipAddrs("::1", "127.0.0.1"), nil
	})}
	before := runtime.NumGoroutine()
	_, err := d.DialDualStack("example.org:" + port)
	var up *ErrDialWithUpstream
	if !errors.As(err, &up) || up.Upstream != "127.0.0.1:"+port {
		t.Fatalf("got %v, want an error with the last address", err)
	}
	if errors.Is(err, ErrDialTimeout) || !strings.HasPrefix(err.Error(), "gale: error when dialing 127.0.0.1:"+port+": dial tcp ") {
		t.Fatalf("got %v, want what the system said", err)
	}
	wantGoroutines(t, before)
}

// Invalid addresses lead to an error before anything is dialed.
func TestDialerAddresses(t *testing.T) {
	d := &TCPDialer{Resolver: resolverFunc(func(_ context.Context, host string) ([]net.IPAddr, error) {
		switch host {
		case "six":
			return ipAddrs("::1"), nil
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

// A timeout and a cancelled context end a dial in every state, with an error that says
// which one it was.
func TestDialerTimeoutAndCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	port := dialTarget(t, "127.0.0.1:0")
	hung := resolverFunc(func(ctx context.Context, _ string) ([]net.IPAddr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	d := &TCPDialer{Resolver: hung}
	for _, addr := range []string{"127.0.0.1:" + port, "example.org:" + port} {
		for _, timeout := range []time.Duration{-1, 0, 1} {
			_, err := d.DialTimeout(addr, timeout)
			if !errors.Is(err, ErrDialTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s in %v: got %v, want ErrDialTimeout", addr, timeout, err)
			}
			if want := "gale: error when dialing " + addr + ": gale: dialing to the given tcp address timed out"; err.Error() != want {
				t.Errorf("%s in %v: got %q, want %q", addr, timeout, err, want)
			}
			var timed net.Error
			if e := errors.Unwrap(err); !errors.As(e, &timed) && !e.(interface{ Timeout() bool }).Timeout() {
				t.Errorf("%s in %v: %v is no timeout", addr, timeout, e)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := d.DialContext(ctx, "tcp", "example.org:"+port); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}

	full := &TCPDialer{Resolver: hung, Concurrency: 1}
	done := make(chan error)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := full.DialContext(ctx, "tcp", "example.org:"+port)
		done <- err
	}()
	for len(full.slotsForTest()) == 0 {
		runtime.Gosched()
	}
	if _, err := full.DialTimeout("127.0.0.1:"+port, 10*time.Millisecond); !errors.Is(err, ErrDialTimeout) {
		t.Errorf("got %v, want ErrDialTimeout as another dial is running", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	conn, err := full.Dial("127.0.0.1:" + port)
	dialed(t, conn, err)
	wantGoroutines(t, before+1) // dialTarget's
}

// slotsForTest returns the channel that holds a value for each running dial.
func (d *TCPDialer) slotsForTest() chan struct{} {
	d.once.Do(func() { d.slots = make(chan struct{}, d.Concurrency) })
	return d.slots
}

// Connections come from the local address that is set, and it decides the family.
func TestDialerLocalAddr(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants all of 127.0.0.0/8")
	}
	port := dialTarget(t, "127.0.0.1:0")
	d := &TCPDialer{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)},
		Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			return ipAddrs("::1", "127.0.0.1"), nil
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
	port := dialTarget(t, "127.0.0.1:0")
	d := &TCPDialer{DisableDNSResolution: true, Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		t.Error("the resolver was asked")
		return nil, errors.New("no")
	})}
	for _, addr := range []string{"127.0.0.1:" + port, "localhost:" + port} {
		conn, err := d.Dial(addr)
		dialed(t, conn, err)
	}
}
