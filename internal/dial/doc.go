// Package dial finds the addresses of hosts and connects to one of several.
//
// It has no settings of its own: resolvers, durations and the function that
// connects to one address are parameters. The root package calls it in this order:
//
//	Names.Lookup -> Answer.Order -> Race -> Names.Answered
package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// ErrNoAddresses is returned when a host has no address that may be dialed.
var ErrNoAddresses = errors.New("couldn't find dns entries for the given domain: try using dual-stack dialing")

// ErrNoConn is the error if a dial function returned neither a connection nor an
// error, or ended its goroutine.
var ErrNoConn = errors.New("gale: the dialer returned neither a connection nor an error")

// Resolver finds the addresses of a host. Users implement it.
type Resolver interface {
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
}

// End returns the reason why the dial of ctx must end, or nil if it needn't. For
// the deadline the clock is read, because package net may notice it before ctx
// does.
func End(ctx context.Context) error {
	err := ctx.Err()
	if end, ok := ctx.Deadline(); err == nil && ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return err
}

// family is a version of IP.
type family uint8

const (
	familyAny family = iota
	familyIPv4
	familyIPv6
)

// familyOf returns the family of ip.
func familyOf(ip netip.Addr) family {
	if ip.Is4() {
		return familyIPv4
	}
	return familyIPv6
}
