package gale

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// dialStagger is how long an address may keep silent before the next one is
// tried beside it: the Connection Attempt Delay of RFC 8305 section 5.
const dialStagger = 250 * time.Millisecond

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

// interleave sorts addrs for dialing. One family comes first: that of the
// first address if any will do, as the resolver wants it. Then families take
// turns (RFC 8305 section 4). Within a family the order is kept, but begins
// elsewhere each turn.
func interleave(addrs []netip.AddrPort, first family, turn uint32) []netip.AddrPort {
	if len(addrs) == 1 {
		return addrs
	}
	if first == familyAny {
		first = familyOf(addrs[0].Addr())
	}
	var one, other []netip.AddrPort
	for _, a := range addrs {
		if familyOf(a.Addr()) == first {
			one = append(one, a)
		} else {
			other = append(other, a)
		}
	}
	sorted := addrs[:0]
	for i := range max(len(one), len(other)) {
		if i < len(one) {
			sorted = append(sorted, one[(i+int(turn%uint32(len(one))))%len(one)])
		}
		if i < len(other) {
			sorted = append(sorted, other[(i+int(turn%uint32(len(other))))%len(other)])
		}
	}
	return sorted
}

// attempt is how dialing an address ended.
type attempt struct {
	conn net.Conn
	err  error
	addr netip.AddrPort
}

// race connects to one of addrs, which aren't empty: the first that answers.
// An address is tried when those before it have failed or kept silent for
// dialStagger (RFC 8305 section 5). No attempt is left running.
func (d *TCPDialer) race(ctx context.Context, network string, addrs []netip.AddrPort) attempt {
	if len(addrs) == 1 {
		conn, err := d.connect(ctx, network, addrs[0].String())
		return attempt{conn, err, addrs[0]}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan attempt, len(addrs))
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			if late := <-done; late.conn != nil {
				late.conn.Close()
			}
		}
	}()
	start := func(addr netip.AddrPort) {
		running++
		go func() {
			conn, err := d.connect(ctx, network, addr.String())
			done <- attempt{conn, err, addr}
		}()
	}

	start(addrs[0])
	next := 1
	stagger := AcquireTimer(dialStagger)
	defer ReleaseTimer(stagger)
	for {
		select {
		case a := <-done:
			running--
			if end := dialEnd(ctx); a.err != nil && end != nil {
				a.err = &ErrDialWithUpstream{Upstream: a.addr.String(), err: end}
				return a
			}
			if a.err == nil || next == len(addrs) && running == 0 {
				return a
			}
		case <-stagger.C:
		}
		if next < len(addrs) {
			start(addrs[next])
			next++
			stagger.Reset(dialStagger)
		}
	}
}
