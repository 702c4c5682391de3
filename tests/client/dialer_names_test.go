package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// nameServer answers questions over UDP, for names of the form a.NAMES.test,
// until the test ends. It returns its address and the number of questions.
func nameServer(t *testing.T, zone map[string][]string) (string, *atomic.Int32) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { pc.Close(); wg.Wait() })
	questions := new(atomic.Int32)
	wg.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			questions.Add(1)
			pc.WriteTo(nameAnswer(buf[:n], zone), from)
		}
	})
	return pc.LocalAddr().String(), questions
}

// nameAnswer answers the question q (RFC 1035 section 4).
func nameAnswer(q []byte, zone map[string][]string) []byte {
	var labels []string
	end := 12
	for q[end] != 0 {
		labels = append(labels, string(q[end+1:end+1+int(q[end])]))
		end += 1 + int(q[end])
	}
	kind := binary.BigEndian.Uint16(q[end+1:])
	end += 5
	ips, ok := zone[strings.ToLower(strings.Join(labels, "."))]
	a := append([]byte{}, q[:end]...)
	flags := uint16(0x8180)
	if !ok {
		flags |= 3 // no such name
	}
	binary.BigEndian.PutUint16(a[2:], flags)
	clear(a[6:12])
	for _, s := range ips {
		ip := netip.MustParseAddr(s)
		if ip.Is4() != (kind == 1) || !ip.Is4() && kind != 28 {
			continue
		}
		a[7]++
		a = append(a, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 60, 0, byte(ip.BitLen()/8))
		a = append(a, ip.AsSlice()...)
	}
	return a
}

// Names are resolved by a name server, once.
func TestDialerNameServer(t *testing.T) {
	port := peers.DialTarget(t, "127.0.0.1:0")
	server, questions := nameServer(t, map[string][]string{
		"www.example.test":  {"::1", "127.0.0.1"},
		"four.example.test": {"127.0.0.1"},
		"none.example.test": nil,
	})
	d := &gale.TCPDialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}}
	before := runtime.NumGoroutine()
	for _, host := range []string{"www.example.test.", "four.example.test.", "WWW.example.test."} {
		for _, dial := range []func(string) (net.Conn, error){d.Dial, d.DialDualStack} {
			conn, err := dial(host + ":" + port)
			if got := peers.Dialed(t, conn, err); got != "127.0.0.1" {
				t.Fatalf("%s: dialed %s", host, got)
			}
		}
	}
	if n := questions.Load(); n != 4 {
		t.Errorf("%d questions for two names, want A and AAAA for each", n)
	}
	for range 3 {
		var noHost *net.DNSError
		if _, err := d.Dial("missing.example.test.:80"); !errors.As(err, &noHost) || !noHost.IsNotFound {
			t.Errorf("got %v, want that there is no such host", err)
		}
		if _, err := d.Dial("none.example.test.:80"); err == nil {
			t.Error("no error for a host without addresses")
		}
	}
	peers.WantGoroutines(t, before)
}

// Dials at the same time, flushes and cancelling don't disturb each other.
func TestDialerConcurrent(t *testing.T) {
	port := peers.DialTarget(t, "127.0.0.1:0")
	before := runtime.NumGoroutine()
	d := &gale.TCPDialer{Concurrency: 3, DNSCacheDuration: time.Millisecond, Resolver: peers.ResolverFunc(func(ctx context.Context, host string) ([]net.IPAddr, error) {
		select {
		case <-time.After(time.Millisecond): // a slow server of names: callers wait together
			return peers.IPAddrs("::1", "127.0.0.1"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if n%3 == 0 {
					time.AfterFunc(time.Duration(i)*200*time.Microsecond, cancel)
				}
				conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("host%d:%s", n%2, port))
				cancel()
				switch {
				case err == nil:
					conn.Close()
				case n%3 != 0 || !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				if n == 25 {
					d.FlushDNSCache()
				}
			}
		})
	}
	wg.Wait()
	peers.WantGoroutines(t, before)
}
