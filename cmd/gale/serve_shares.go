package main

import (
	"net/netip"
	"sync"
)

// clientShares limits how many places one client has at a time, so that it can't keep all
// of them from the others. A client is what clientOf says. Those without an address and
// those of this machine aren't limited: behind a proxy, or on a UNIX socket, all clients
// look like that.
type clientShares struct {
	most int // for each client

	mu   sync.Mutex
	held map[netip.Prefix]int // clients with places, and how many they have
}

// take takes a place for the client at ip. If ok is true, the caller calls give once.
func (s *clientShares) take(ip netip.Addr) (give func(), ok bool) {
	if !ip.IsValid() || ip.IsLoopback() {
		return func() {}, true
	}
	client := clientOf(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] >= s.most {
		return nil, false
	}
	if s.held == nil {
		s.held = make(map[netip.Prefix]int)
	}
	s.held[client]++
	return func() { s.give(client) }, true
}

func (s *clientShares) give(client netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client]--; s.held[client] == 0 {
		delete(s.held, client)
	}
}
