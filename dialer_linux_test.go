package gale

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hungTarget listens on a port of ::1 where connections wait forever: its queue is full.
func hungTarget(t *testing.T, port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	n, _ := strconv.Atoi(port)
	addr := &syscall.SockaddrInet6{Port: n}
	addr.Addr[15] = 1
	if err := syscall.Bind(fd, addr); err != nil {
		t.Skip(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Skip(err)
	}
	for late, tries := 0, 0; tries < 10; tries++ {
		conn, err := net.DialTimeout("tcp", "[::1]:"+port, 300*time.Millisecond)
		if err == nil {
			late = 0
			t.Cleanup(func() { conn.Close() })
		} else if late++; late == 2 { // a slow machine may cause one
			return
		}
	}
	t.Skip("the queue of a listener doesn't fill up")
}

// If an address doesn't answer, the dial tries the next one (RFC 8305 section 5). The
// family of the one that answers is tried first after that.
func TestHappyEyeballs(t *testing.T) {
	withoutEngine(t)
	port := dialTarget(t, "127.0.0.1:0")
	hungTarget(t, port)
	d := &TCPDialer{Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return ipAddrs("::1", "127.0.0.1"), nil
	})}
	before := runtime.NumGoroutine()
	for range 3 {
		conn, err := d.DialDualStack("example.org:" + port)
		if got := dialed(t, conn, err); got != "127.0.0.1" {
			t.Fatalf("dialed %s", got)
		}
		_, found, err := d.resolve(t.Context(), "tcp", "example.org:"+port)
		if err != nil {
			t.Fatal(err)
		}
		first := found.Order([]netip.AddrPort{netip.MustParseAddrPort("[::1]:1"), netip.MustParseAddrPort("127.0.0.1:1")})[0]
		if !first.Addr().Is4() {
			t.Fatalf("%s is tried first, want the family that answered", first)
		}
	}
	wantGoroutines(t, before)
}

// A dial to an address that doesn't answer ends at its timeout, and so does the attempt.
func TestDialerHung(t *testing.T) {
	withoutEngine(t)
	port := dialTarget(t, "127.0.0.1:0")
	hungTarget(t, port)
	d := &TCPDialer{Resolver: resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		return ipAddrs("::1", "::1", "::1"), nil
	})}
	before := runtime.NumGoroutine()
	for _, host := range []string{"[::1]", "example.org"} {
		_, err := d.DialDualStackTimeout(host+":"+port, 300*time.Millisecond)
		if !errors.Is(err, ErrDialTimeout) || !strings.HasPrefix(err.Error(), "gale: error when dialing [::1]:"+port) {
			t.Errorf("%s: got %v, want ErrDialTimeout and the address", host, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		if _, err = d.DialContext(ctx, "tcp", host+":"+port); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", host, err)
		}
	}
	wantGoroutines(t, before)
}
