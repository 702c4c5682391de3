package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	// maxHosts limits the number of hosts in a cache.
	maxHosts = 4096
	// maxAddrs limits the addresses of a host, so that a name server can't decide
	// how many are stored or dialed.
	maxAddrs = 64
	// negativeTime is how long the result is cached that a host doesn't exist.
	negativeTime = time.Second
	// lookupTime limits a lookup, in addition to the time limits of its callers.
	lookupTime = 30 * time.Second
	// maxRefreshes limits the number of lookups that no caller waits for.
	maxRefreshes = 16
)

// Names caches the addresses of hosts. Its zero value is empty and ready for use,
// and its methods may be called concurrently. A lookup runs in a goroutine and is
// shared by all callers that want it. It is cancelled when all of them have left.
// There is only one lookup for a host at a time, even if the resolver ignores the
// cancellation.
type Names struct {
	mu        sync.Mutex
	hosts     map[string]*host
	refreshes int // running lookups that began without a waiting caller
}

// host is what is known about a host. The lock of Names guards it.
type host struct {
	ips     []netip.Addr // never changed in place
	err     error        // if there is no such host
	refresh time.Time    // from then on the addresses are looked up again
	expires time.Time    // from then on they must not be used
	turn    uint32
	family  family  // the family that answered last, if it wasn't the first one
	running *lookup // the running lookup, or nil
}

// lookup is a running or ended lookup.
type lookup struct {
	cancel    context.CancelFunc
	refreshes bool // began without a waiting caller
	cancelled bool // all callers have left; the lock of Names guards both
	waiting   int
	done      chan struct{} // closed when ips and err are set
	ips       []netip.Addr
	err       error
}

// Answer has the addresses of a host, and the order in which to use them. IPs are
// shared: callers must not change them.
type Answer struct {
	IPs    []netip.Addr
	turn   uint32
	family family
	host   *host
}

// Lookup returns the addresses of name: the cached ones, or those that r finds.
// These are cached for keep, or not at all if keep is negative. Lookup returns when
// ctx ends.
func (c *Names) Lookup(ctx context.Context, name string, r Resolver, keep time.Duration) (Answer, error) {
	name = strings.ToLower(name)
	for {
		answer, l, err := c.find(ctx, name, r, keep)
		if l == nil {
			return answer, err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
		}
		if c.leave(l) {
			continue // it had been cancelled before
		}
		select {
		case <-l.done:
			answer.IPs = l.ips
			return answer, l.err
		default:
			return Answer{}, ctx.Err()
		}
	}
}

// find returns what is known about name, or the lookup to wait for, which the
// caller must leave.
func (c *Names) find(ctx context.Context, name string, r Resolver, keep time.Duration) (Answer, *lookup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.host(name)
	answer := Answer{IPs: h.ips, turn: h.turn, family: h.family, host: h}
	h.turn++
	if now := time.Now(); now.Before(h.expires) {
		if !now.Before(h.refresh) && h.running == nil && c.refreshes < maxRefreshes {
			c.refreshes++
			c.start(context.Background(), name, h, r, keep).refreshes = true
		}
		return answer, nil, h.err
	}
	l := h.running
	if l == nil {
		l = c.start(context.WithoutCancel(ctx), name, h, r, keep)
	}
	l.waiting++
	return answer, l, nil
}

// leave ends the wait for a lookup, and the lookup if no other caller waits. It
// returns true if the lookup has ended without a result because it had been
// cancelled. The caller can then start another one.
func (c *Names) leave(l *lookup) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.waiting--
	select {
	case <-l.done:
		return l.cancelled
	default:
	}
	if l.waiting == 0 && !l.refreshes {
		l.cancelled = true
		l.cancel()
	}
	return false
}

// Flush forgets all hosts. Results of running lookups go to the callers that wait
// for them, but aren't cached.
func (c *Names) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hosts {
		c.forget(h)
	}
	c.hosts = nil
}

// forget cancels the lookup of a host that leaves the cache, unless a caller waits
// for it.
func (c *Names) forget(h *host) {
	if l := h.running; l != nil && l.waiting == 0 {
		l.cancelled = true
		l.cancel()
	}
}

// host returns the entry of a host, which may be empty.
func (c *Names) host(name string) *host {
	if h := c.hosts[name]; h != nil {
		return h
	}
	if c.hosts == nil {
		c.hosts = make(map[string]*host)
	}
	c.sweep()
	h := &host{}
	c.hosts[strings.Clone(name)] = h
	return h
}

// sweep makes room for one more host. It only looks at a few hosts, in the random order
// of maps: that removes expired hosts as fast as new ones are added.
func (c *Names) sweep() {
	now := time.Now()
	looks := 8
	for name, h := range c.hosts {
		if h.running == nil && !now.Before(h.expires) {
			delete(c.hosts, name)
		}
		if looks--; looks == 0 {
			break
		}
	}
	for name, h := range c.hosts {
		if len(c.hosts) < maxHosts {
			return
		}
		c.forget(h)
		delete(c.hosts, name)
	}
}

// start starts a goroutine that looks up h. The caller holds the lock.
func (c *Names) start(ctx context.Context, name string, h *host, r Resolver, keep time.Duration) *lookup {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	l := &lookup{cancel: cancel, done: make(chan struct{})}
	h.running = l
	go func() {
		defer cancel()
		defer func() { // even if r ends the goroutine
			c.mu.Lock()
			defer c.mu.Unlock()
			close(l.done)
			h.running = nil
			if l.refreshes {
				c.refreshes--
			}
			if !l.cancelled {
				h.learn(l, keep, time.Now())
			}
		}()
		l.err = ErrNoAddresses
		l.ips, l.err = resolve(ctx, r, name)
	}()
	return l
}

// Answered records the result of a dial with the addresses of a: first was the
// address that was tried first, won the one that answered. From then on the family
// of won is tried first, until the host is looked up again.
func (c *Names) Answered(a Answer, first, won netip.Addr) {
	f := familyOf(won)
	if a.host == nil || f == familyOf(first) {
		return
	}
	c.mu.Lock()
	a.host.family = f
	c.mu.Unlock()
}

// learn stores the result of a lookup. Failures change nothing: addresses that
// haven't expired are still used.
func (h *host) learn(l *lookup, keep time.Duration, now time.Time) {
	if keep < 0 {
		return
	}
	if l.err == nil {
		h.ips, h.err, h.family = l.ips, nil, familyAny
		h.refresh = now.Add(keep - keep/4)
		h.expires = now.Add(keep)
		return
	}
	if noHost := (*net.DNSError)(nil); errors.As(l.err, &noHost) && noHost.IsNotFound {
		h.ips, h.err = nil, l.err
		h.expires = now.Add(min(keep, negativeTime))
		h.refresh = h.expires
		return
	}
	// Look it up again, but not at once.
	h.refresh = now.Add(negativeTime)
}

// resolve calls r for the addresses of a host. An empty result is an error, and so
// is a panic of r.
func resolve(ctx context.Context, r Resolver, name string) (ips []netip.Addr, err error) {
	defer func() {
		if p := recover(); p != nil {
			ips, err = nil, fmt.Errorf("gale: resolver panicked looking up %q: %v\n%s", name, p, debug.Stack())
		}
	}()
	found, err := r.LookupIPAddr(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, a := range found[:min(len(found), maxAddrs)] {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ips = append(ips, ip.Unmap().WithZone(a.Zone))
		}
	}
	if len(ips) == 0 {
		return nil, ErrNoAddresses
	}
	return ips, nil
}
