package gale

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
	"testing/synctest"
	"time"
)

// findHost is a lookup by one who waits as long as it takes.
func findHost(c *dnsCache, host string, r Resolver, keep time.Duration) string {
	a, err := c.lookup(context.Background(), host, r, keep)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.ips)
}

// Addresses are used for the time that was given; when it nears its end they
// are looked up again while they are still used.
func TestDNSCacheRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c dnsCache
		var lookups atomic.Int32
		var fail error
		r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			n := lookups.Add(1)
			time.Sleep(time.Second)
			return ipAddrs(fmt.Sprintf("10.0.0.%d", n)), fail
		})
		step := func(what, want string, wantLookups int) {
			t.Helper()
			got := findHost(&c, "a", r, time.Minute)
			synctest.Wait()
			if got != want || int(lookups.Load()) != wantLookups {
				t.Fatalf("%s: got %s with %d lookups, want %s with %d", what, got, lookups.Load(), want, wantLookups)
			}
		}
		step("first", "[10.0.0.1]", 1)
		time.Sleep(44 * time.Second)
		step("fresh", "[10.0.0.1]", 1)
		time.Sleep(2 * time.Second)
		step("beginning a refresh", "[10.0.0.1]", 2)
		step("during the refresh", "[10.0.0.1]", 2)
		time.Sleep(2 * time.Second)
		step("after the refresh", "[10.0.0.2]", 2)
		fail = errors.New("server failure")
		time.Sleep(50 * time.Second)
		step("a refresh that will fail", "[10.0.0.2]", 3)
		time.Sleep(2 * time.Second)
		step("and again", "[10.0.0.2]", 4)
		time.Sleep(20 * time.Second)
		step("expired", "server failure", 5)
		step("failures are not remembered", "server failure", 6)
		fail = nil
		step("well again", "[10.0.0.7]", 7)
		time.Sleep(61 * time.Second)
		step("expired", "[10.0.0.8]", 8)
		if c.refreshes != 0 {
			t.Fatalf("%d refreshes are left", c.refreshes)
		}
	})
}

// That a host doesn't exist is remembered for a second.
func TestDNSCacheNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c dnsCache
		lookups := 0
		r := resolverFunc(func(_ context.Context, host string) ([]net.IPAddr, error) {
			lookups++
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		})
		for range 3 {
			if got := findHost(&c, "a", r, time.Minute); got != "lookup a: no such host" || lookups != 1 {
				t.Fatalf("got %s with %d lookups", got, lookups)
			}
		}
		time.Sleep(time.Second)
		findHost(&c, "a", r, time.Minute)
		synctest.Wait()
		if lookups != 2 {
			t.Fatalf("%d lookups, want one more after a second", lookups)
		}
	})
}

// Without a cache each dial looks up.
func TestDNSCacheOff(t *testing.T) {
	var c dnsCache
	lookups := 0
	r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
		lookups++
		return ipAddrs("10.0.0.1"), nil
	})
	for i := range 3 {
		if findHost(&c, "a", r, -1); lookups != i+1 {
			t.Fatalf("%d lookups, want %d", lookups, i+1)
		}
	}
}

// Those who want the same host share a lookup. One who leaves doesn't end it
// for the others; the last one does.
func TestDNSCacheShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c dnsCache
		var lookups, cancelled atomic.Int32
		r := resolverFunc(func(ctx context.Context, host string) ([]net.IPAddr, error) {
			lookups.Add(1)
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, ctx.Err()
			case <-time.After(10 * time.Second):
				return ipAddrs("10.0.0.1"), nil
			}
		})
		var wg sync.WaitGroup
		var left, served atomic.Int32
		for i := range 20 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := c.lookup(ctx, "a", r, time.Minute)
				switch {
				case err == nil:
					served.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					left.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if l, s, n := left.Load(), served.Load(), lookups.Load(); n != 1 || l+s != 20 || s < 10 || cancelled.Load() != 0 {
			t.Fatalf("%d lookups, %d left, %d were served; %d cancelled", n, l, s, cancelled.Load())
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.lookup(ctx, "b", r, time.Minute)
		synctest.Wait()
		if !errors.Is(err, context.DeadlineExceeded) || cancelled.Load() != 1 {
			t.Fatalf("got %v and %d were cancelled, want the lookup to end with the last who waits", err, cancelled.Load())
		}
	})
}

// A resolver that doesn't mind being cancelled runs once for a host, however
// many have come and gone.
func TestDNSCacheStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c dnsCache
		var lookups atomic.Int32
		r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			lookups.Add(1)
			time.Sleep(time.Hour)
			return ipAddrs("10.0.0.1"), nil
		})
		for range 100 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := c.lookup(ctx, "a", r, time.Minute)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || lookups.Load() != 1 {
				t.Fatalf("got %v with %d lookups", err, lookups.Load())
			}
		}
		if got := findHost(&c, "a", r, time.Minute); got != "[10.0.0.1]" || lookups.Load() != 2 {
			t.Fatalf("got %s with %d lookups, want one more as the first was cancelled", got, lookups.Load())
		}
	})
}

// What a lookup finds that began before a flush isn't remembered.
func TestDNSCacheFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c dnsCache
		var lookups atomic.Int32
		r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			n := lookups.Add(1)
			time.Sleep(time.Second)
			return ipAddrs(fmt.Sprintf("10.0.0.%d", n)), nil
		})
		old := make(chan string)
		go func() { old <- findHost(&c, "a", r, time.Minute) }()
		synctest.Wait()
		c.flush()
		if got := findHost(&c, "a", r, time.Minute); got != "[10.0.0.2]" {
			t.Fatalf("got %s, want a new lookup", got)
		}
		if got := <-old; got != "[10.0.0.1]" {
			t.Fatalf("who waited got %s", got)
		}
		if got := findHost(&c, "a", r, time.Minute); got != "[10.0.0.2]" {
			t.Fatalf("got %s, want what came after the flush", got)
		}
	})
}

// The cache is bounded, and so is what a host may have.
func TestDNSCacheBounds(t *testing.T) {
	var c dnsCache
	r := resolverFunc(func(_ context.Context, host string) ([]net.IPAddr, error) {
		if host == "many" {
			return make([]net.IPAddr, 10), nil // invalid all
		}
		many := make([]net.IPAddr, 1000)
		for i := range many {
			many[i].IP = net.IPv4(10, 0, byte(i>>8), byte(i))
		}
		return many, nil
	})
	for i := range dnsMaxHosts + 500 {
		host := fmt.Sprintf("host%d", i)
		a, err := c.lookup(t.Context(), host, r, time.Hour)
		if err != nil || len(a.ips) != dnsMaxAddrs {
			t.Fatalf("%s: %d addresses, %v", host, len(a.ips), err)
		}
	}
	if len(c.hosts) != dnsMaxHosts {
		t.Fatalf("%d hosts are remembered, want %d", len(c.hosts), dnsMaxHosts)
	}
	if got := findHost(&c, "many", r, time.Hour); got != errNoAddresses.Error() {
		t.Fatalf("got %s", got)
	}
	c.flush()
	for i := range 1000 { // hosts that expire leave on their own
		if _, err := c.lookup(t.Context(), fmt.Sprint(i), r, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.hosts) > 20 {
		t.Fatalf("%d expired hosts are remembered", len(c.hosts))
	}
}

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
	port := dialTarget(t, "127.0.0.1:0")
	server, questions := nameServer(t, map[string][]string{
		"www.example.test":  {"::1", "127.0.0.1"},
		"four.example.test": {"127.0.0.1"},
		"none.example.test": nil,
	})
	d := &TCPDialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}}
	before := runtime.NumGoroutine()
	for _, host := range []string{"www.example.test.", "four.example.test.", "WWW.example.test."} {
		for _, dial := range []func(string) (net.Conn, error){d.Dial, d.DialDualStack} {
			conn, err := dial(host + ":" + port)
			if got := dialed(t, conn, err); got != "127.0.0.1" {
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
	wantGoroutines(t, before)
}

// Dials at the same time, flushes and cancelling don't disturb each other.
func TestDialerConcurrent(t *testing.T) {
	port := dialTarget(t, "127.0.0.1:0")
	before := runtime.NumGoroutine()
	d := &TCPDialer{Concurrency: 3, DNSCacheDuration: time.Millisecond, Resolver: resolverFunc(func(ctx context.Context, host string) ([]net.IPAddr, error) {
		select {
		case <-time.After(time.Millisecond):
			return ipAddrs("::1", "127.0.0.1"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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
	wantGoroutines(t, before)
}
