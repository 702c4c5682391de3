package gale

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
	// dnsMaxHosts bounds the hosts of a cache.
	dnsMaxHosts = 4096
	// dnsMaxAddrs bounds the addresses of a host: who answers for a name
	// doesn't decide how much is remembered, or dialed.
	dnsMaxAddrs = 64
	// dnsNegative is how long it is remembered that a host doesn't exist.
	dnsNegative = time.Second
	// dnsLookupTime bounds a lookup, beside the patience of those who wait.
	dnsLookupTime = 30 * time.Second
	// dnsMaxRefreshes bounds the lookups that nobody waits for.
	dnsMaxRefreshes = 16
)

// dnsCache remembers the addresses of hosts. Its zero value is empty. A lookup
// runs in a goroutine and is shared by all who want it; it is cancelled when
// all of them have left. There is one for a host at a time, even if the
// resolver doesn't mind being cancelled.
type dnsCache struct {
	mu        sync.Mutex
	hosts     map[string]*dnsHost
	refreshes int // how many lookups run that began with nobody waiting
}

// dnsHost is what is known about a host. The cache's lock guards it.
type dnsHost struct {
	ips     []netip.Addr // never changed in place
	err     error        // that there is no such host
	refresh time.Time    // from when on the addresses are looked up again
	expires time.Time    // from when on they mustn't be used
	turn    uint32
	family  family     // which one answered last, if it wasn't the first
	running *dnsLookup // the lookup that runs, if one does
}

// dnsLookup is a lookup that runs or has ended.
type dnsLookup struct {
	cancel    context.CancelFunc
	refreshes bool // began with nobody waiting
	cancelled bool // all who waited have left; the cache's lock guards both
	waiting   int
	done      chan struct{} // closed when ips and err are there
	ips       []netip.Addr
	err       error
}

// dnsAnswer is the addresses of a host, and in which order to use them. The
// addresses are shared and not to be changed.
type dnsAnswer struct {
	ips    []netip.Addr
	turn   uint32
	family family
	host   *dnsHost
}

// lookup returns the addresses of host, from the cache if it may.
func (c *dnsCache) lookup(ctx context.Context, host string, r Resolver, keep time.Duration) (dnsAnswer, error) {
	if r == nil {
		r = net.DefaultResolver
	}
	if keep == 0 {
		keep = DefaultDNSCacheDuration
	}
	host = strings.ToLower(host)
	for {
		answer, l, err := c.find(ctx, host, r, keep)
		if l == nil {
			return answer, err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
		}
		if c.leave(l) {
			continue // it was being cancelled as we came
		}
		select {
		case <-l.done:
			answer.ips = l.ips
			return answer, l.err
		default:
			return dnsAnswer{}, ctx.Err()
		}
	}
}

// find returns what is known about host, or the lookup to wait for, which the
// caller must leave.
func (c *dnsCache) find(ctx context.Context, host string, r Resolver, keep time.Duration) (dnsAnswer, *dnsLookup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.host(host)
	answer := dnsAnswer{ips: h.ips, turn: h.turn, family: h.family, host: h}
	h.turn++
	if now := time.Now(); now.Before(h.expires) {
		if !now.Before(h.refresh) && h.running == nil && c.refreshes < dnsMaxRefreshes {
			c.refreshes++
			c.start(context.Background(), host, h, r, keep).refreshes = true
		}
		return answer, nil, h.err
	}
	l := h.running
	if l == nil {
		l = c.start(context.WithoutCancel(ctx), host, h, r, keep)
	}
	l.waiting++
	return answer, l, nil
}

// leave ends the wait for a lookup, and the lookup if nobody else waits. It
// reports whether the lookup says nothing, having been cancelled before, and
// is over: another one can be made.
func (c *dnsCache) leave(l *dnsLookup) (again bool) {
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

// flush forgets all hosts.
func (c *dnsCache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hosts {
		c.forget(h)
	}
	c.hosts = nil
}

// forget ends the lookup of a host that leaves the cache, unless it is waited
// for.
func (c *dnsCache) forget(h *dnsHost) {
	if l := h.running; l != nil && l.waiting == 0 {
		l.cancelled = true
		l.cancel()
	}
}

// host returns what is known about the host, maybe nothing.
func (c *dnsCache) host(host string) *dnsHost {
	if h := c.hosts[host]; h != nil {
		return h
	}
	if c.hosts == nil {
		c.hosts = make(map[string]*dnsHost)
	}
	c.sweep()
	h := &dnsHost{}
	c.hosts[strings.Clone(host)] = h
	return h
}

// sweep makes room for one more host. It looks at a few only, in the random
// order of maps: who adds hosts pays for removing them at the same rate.
func (c *dnsCache) sweep() {
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
		if len(c.hosts) < dnsMaxHosts {
			return
		}
		c.forget(h)
		delete(c.hosts, name)
	}
}

// start looks h up. The caller holds the lock.
func (c *dnsCache) start(ctx context.Context, host string, h *dnsHost, r Resolver, keep time.Duration) *dnsLookup {
	ctx, cancel := context.WithTimeout(ctx, dnsLookupTime)
	l := &dnsLookup{cancel: cancel, done: make(chan struct{})}
	h.running = l
	go func() {
		defer cancel()
		defer func() { // also if r ends the goroutine
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
		l.err = errNoAddresses
		l.ips, l.err = resolveHost(ctx, r, host)
	}()
	return l
}

// answered notes which family a host answered on, so that it is asked first
// until the host is looked up again.
func (c *dnsCache) answered(h *dnsHost, f family) {
	c.mu.Lock()
	h.family = f
	c.mu.Unlock()
}

// learn takes over what a lookup found. Failures change nothing: addresses
// that haven't expired yet are still good.
func (h *dnsHost) learn(l *dnsLookup, keep time.Duration, now time.Time) {
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
		h.expires = now.Add(min(keep, dnsNegative))
		h.refresh = h.expires
		return
	}
	// Ask again, but not at once.
	h.refresh = now.Add(dnsNegative)
}

// resolveHost asks r for the addresses of host. No addresses are an error, and
// so is a resolver's panic.
func resolveHost(ctx context.Context, r Resolver, host string) (ips []netip.Addr, err error) {
	defer func() {
		if p := recover(); p != nil {
			ips, err = nil, fmt.Errorf("gale: resolver panicked looking up %q: %v\n%s", host, p, debug.Stack())
		}
	}()
	found, err := r.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range found[:min(len(found), dnsMaxAddrs)] {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ips = append(ips, ip.Unmap().WithZone(a.Zone))
		}
	}
	if len(ips) == 0 {
		return nil, errNoAddresses
	}
	return ips, nil
}
