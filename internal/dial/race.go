package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"time"
)

// stagger is how long to wait for an address to answer before the next one is tried
// as well: the Connection Attempt Delay of RFC 8305 section 5.
const stagger = 250 * time.Millisecond

// Order sorts addrs in the order in which to try them. addrs are addresses of a
// with a port. The result uses the memory of addrs.
func (a Answer) Order(addrs []netip.AddrPort) []netip.AddrPort {
	return interleave(addrs, a.family, a.turn)
}

// interleave sorts addrs for dialing. It begins with the family first; if that can
// be any, with the family of the first address, because the resolver has sorted
// them. Then the families alternate (RFC 8305 section 4). Within a family the order
// is kept, but it starts at another address each turn.
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

// Attempt is the result of dialing one address.
type Attempt struct {
	Conn net.Conn
	Err  error
	Addr netip.AddrPort
}

// Race dials addrs, which must not be empty, and returns the connection that is
// made first. An address is tried when those before it have failed, or haven't
// answered for stagger (RFC 8305 section 5). When ctx has ended, Race returns with
// the error of an attempt; see End. No call of connect is running after Race has
// returned.
func Race(ctx context.Context, addrs []netip.AddrPort, connect func(ctx context.Context, addr string) (net.Conn, error)) Attempt {
	if len(addrs) == 1 {
		conn, err := connect(ctx, addrs[0].String())
		return Attempt{conn, err, addrs[0]}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan Attempt, len(addrs))
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			if other := <-done; other.Conn != nil {
				other.Conn.Close()
			}
		}
	}()
	start := func(addr netip.AddrPort) {
		running++
		go func() {
			a := Attempt{Err: ErrNoConn, Addr: addr}
			defer func() {
				if p := recover(); p != nil { // a method of the caller's context
					a.Err = fmt.Errorf("gale: dialing %s panicked: %v\n%s", addr, p, debug.Stack())
				}
				done <- a
			}()
			a.Conn, a.Err = connect(ctx, addr.String())
		}()
	}

	start(addrs[0])
	next := 1
	silent := time.NewTimer(stagger)
	defer silent.Stop()
	for {
		select {
		case a := <-done:
			running--
			if a.Err == nil || End(ctx) != nil || next == len(addrs) && running == 0 {
				return a
			}
		case <-silent.C:
		}
		if next < len(addrs) {
			start(addrs[next])
			next++
			silent.Reset(stagger)
		}
	}
}
