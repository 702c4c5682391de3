package peers

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// ResolverFunc is a Resolver.
type ResolverFunc func(ctx context.Context, host string) ([]net.IPAddr, error)

func (f ResolverFunc) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return f(ctx, host)
}

// IPAddrs makes the answer of a resolver from texts.
func IPAddrs(texts ...string) []net.IPAddr {
	addrs := make([]net.IPAddr, len(texts))
	for i, s := range texts {
		addrs[i].IP = net.ParseIP(s)
	}
	return addrs
}

// DialTarget listens on addr, whose port may be 0, and keeps the connections that it
// accepts until the test ends. It returns the port.
func DialTarget(t *testing.T, addr string) string {
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

// Dialed closes conn and returns the host to which it was connected.
func Dialed(t *testing.T, conn net.Conn, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return host
}

// WantGoroutines waits until no more goroutines run than before. It proves only that none
// is left over. before may include goroutines of earlier tests, so it may return while
// some of this test still run.
func WantGoroutines(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // between two looks
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, AllStacks())
}
