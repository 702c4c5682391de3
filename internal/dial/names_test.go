package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// resolverFunc is a Resolver.
type resolverFunc func(ctx context.Context, host string) ([]net.IPAddr, error)

func (f resolverFunc) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return f(ctx, host)
}

// ipAddrs makes a resolver's answer of texts.
func ipAddrs(texts ...string) []net.IPAddr {
	addrs := make([]net.IPAddr, len(texts))
	for i, s := range texts {
		addrs[i].IP = net.ParseIP(s)
	}
	return addrs
}

// findHost is a lookup that waits as long as it takes.
func findHost(c *Names, host string, r Resolver, keep time.Duration) string {
	a, err := c.Lookup(context.Background(), host, r, keep)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a.IPs)
}

// Addresses are used for the time that was given; when it nears its end they
// are looked up again while they are still used.
func TestNamesRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Names
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
func TestNamesNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Names
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
func TestNamesOff(t *testing.T) {
	var c Names
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

// Callers that want the same host share a lookup. A caller that leaves doesn't end it
// for the others. The last one does.
func TestNamesShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Names
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
				_, err := c.Lookup(ctx, "a", r, time.Minute)
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
		_, err := c.Lookup(ctx, "b", r, time.Minute)
		synctest.Wait()
		if !errors.Is(err, context.DeadlineExceeded) || cancelled.Load() != 1 {
			t.Fatalf("got %v and %d were cancelled, want the lookup to end with the last who waits", err, cancelled.Load())
		}
	})
}

// A resolver that doesn't mind being cancelled runs once for a host, however
// many have come and gone.
func TestNamesStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Names
		var lookups atomic.Int32
		r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			lookups.Add(1)
			time.Sleep(time.Hour)
			return ipAddrs("10.0.0.1"), nil
		})
		for range 100 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := c.Lookup(ctx, "a", r, time.Minute)
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
func TestNamesFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Names
		var lookups atomic.Int32
		r := resolverFunc(func(context.Context, string) ([]net.IPAddr, error) {
			n := lookups.Add(1)
			time.Sleep(time.Second)
			return ipAddrs(fmt.Sprintf("10.0.0.%d", n)), nil
		})
		old := make(chan string)
		go func() { old <- findHost(&c, "a", r, time.Minute) }()
		synctest.Wait()
		c.Flush()
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
func TestNamesBounds(t *testing.T) {
	var c Names
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
	for i := range maxHosts + 500 {
		host := fmt.Sprintf("host%d", i)
		a, err := c.Lookup(t.Context(), host, r, time.Hour)
		if err != nil || len(a.IPs) != maxAddrs {
			t.Fatalf("%s: %d addresses, %v", host, len(a.IPs), err)
		}
	}
	if len(c.hosts) != maxHosts {
		t.Fatalf("%d hosts are remembered, want %d", len(c.hosts), maxHosts)
	}
	if got := findHost(&c, "many", r, time.Hour); got != ErrNoAddresses.Error() {
		t.Fatalf("got %s", got)
	}
	c.Flush()
	for i := range 1000 { // hosts that expire leave on their own
		if _, err := c.Lookup(t.Context(), fmt.Sprint(i), r, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.hosts) > 20 {
		t.Fatalf("%d expired hosts are remembered", len(c.hosts))
	}
}
