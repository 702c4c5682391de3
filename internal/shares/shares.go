// Package shares limits how many places of something one client has at a time, so that it can't
// keep all of them from the others.
package shares

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ClientOf returns what counts as one client: an IPv4 address, or the IPv6 addresses that
// a provider gives to one customer. All clients without an IP address, as on UNIX
// sockets, count as one.
func ClientOf(ip netip.Addr) netip.Prefix {
	bits := 32
	if ip.Is6() {
		bits = 56
	}
	p, _ := ip.Prefix(bits)
	return p
}

// Shares counts the places of clients. Clients without an address and those of this machine
// aren't limited: behind a proxy, or on a UNIX socket, all clients look like that. The zero
// value is ready for use. Its methods may be called concurrently.
type Shares struct {
	mu      sync.Mutex
	held    map[netip.Prefix]int // clients with places, and how many they have
	waiting map[netip.Prefix][]*waiter
}

// waiter is a call of Wait that waits. Only the first of a client is looked at.
type waiter struct {
	most  int
	ready chan struct{} // closed when it has its place
}

// Place is a place of a client. The zero value is that of a client without limit.
type Place struct {
	s      *Shares
	client netip.Prefix
}

// Take takes a place for the client at ip, who may have most of them. If ok is true, the caller
// calls GiveBack once.
func (s *Shares) Take(ip netip.Addr, most int) (place Place, ok bool) {
	if isUnlimited(ip) {
		return Place{}, true
	}
	client := ClientOf(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] >= most {
		return Place{}, false
	}
	s.hold(client)
	return Place{s, client}, true
}

// Wait is Take that waits for a place, for d at most and until done is closed. As many calls wait
// as the client may have places; further ones return at once.
func (s *Shares) Wait(ip netip.Addr, most int, d time.Duration, done <-chan struct{}) (place Place, ok bool) {
	if isUnlimited(ip) {
		return Place{}, true
	}
	client := ClientOf(ip)
	w := s.enqueue(client, most)
	switch {
	case w == nil:
		return Place{}, false
	case w.ready == nil:
		return Place{s, client}, true
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-w.ready:
		return Place{s, client}, true
	case <-late.C:
	case <-done:
	}
	if s.dequeue(client, w) {
		return Place{}, false
	}
	return Place{s, client}, true // it came at the same time
}

// enqueue makes a waiter, whose channel is nil if it has its place already. It returns nil if too
// many wait.
func (s *Shares) enqueue(client netip.Prefix, most int) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] < most && len(s.waiting[client]) == 0 {
		s.hold(client)
		return new(waiter)
	}
	if len(s.waiting[client]) >= most {
		return nil
	}
	if s.waiting == nil {
		s.waiting = make(map[netip.Prefix][]*waiter)
	}
	w := &waiter{most, make(chan struct{})}
	s.waiting[client] = append(s.waiting[client], w)
	return w
}

// dequeue removes a waiter. It returns false if it has its place.
func (s *Shares) dequeue(client netip.Prefix, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.waiting[client]
	i := slices.Index(list, w)
	if i < 0 {
		return false
	}
	s.keep(client, slices.Delete(list, i, i+1))
	s.serve(client) // the next one may have a higher limit
	return true
}

// keep stores what is left of the waiters of a client. The lock is held, as in hold and serve.
func (s *Shares) keep(client netip.Prefix, list []*waiter) {
	if len(list) == 0 {
		delete(s.waiting, client)
		return
	}
	s.waiting[client] = list
}

func (s *Shares) hold(client netip.Prefix) {
	if s.held == nil {
		s.held = make(map[netip.Prefix]int)
	}
	s.held[client]++
}

// serve gives free places of the client to those that wait.
func (s *Shares) serve(client netip.Prefix) {
	list := s.waiting[client]
	if len(list) == 0 {
		return
	}
	for len(list) > 0 && s.held[client] < list[0].most {
		s.hold(client)
		close(list[0].ready)
		list = slices.Delete(list, 0, 1)
	}
	s.keep(client, list)
}

// GiveBack gives the place back. It is called once.
func (p Place) GiveBack() {
	s := p.s
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[p.client]--; s.held[p.client] == 0 {
		delete(s.held, p.client)
	}
	s.serve(p.client)
}

// Len returns how many clients have places or wait.
func (s *Shares) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) + len(s.waiting)
}

func isUnlimited(ip netip.Addr) bool { return !ip.IsValid() || ip.IsLoopback() }
