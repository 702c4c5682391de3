package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Families take turns from the first on, and each family begins elsewhere
// every turn.
func TestInterleave(t *testing.T) {
	for _, tt := range []struct {
		in    string
		first family
		turn  uint32
		want  string
	}{
		{"1.1.1.1", familyAny, 5, "1.1.1.1"},
		{"1.1.1.1 2.2.2.2 3.3.3.3", familyAny, 0, "1.1.1.1 2.2.2.2 3.3.3.3"},
		{"1.1.1.1 2.2.2.2 3.3.3.3", familyAny, 1, "2.2.2.2 3.3.3.3 1.1.1.1"},
		{"1.1.1.1 2.2.2.2 3.3.3.3", familyAny, 1<<32 - 1, "1.1.1.1 2.2.2.2 3.3.3.3"},
		{"::1 ::2 1.1.1.1 2.2.2.2", familyAny, 0, "::1 1.1.1.1 ::2 2.2.2.2"},
		{"::1 ::2 1.1.1.1 2.2.2.2", familyAny, 1, "::2 2.2.2.2 ::1 1.1.1.1"},
		{"::1 ::2 1.1.1.1 2.2.2.2", familyIPv4, 0, "1.1.1.1 ::1 2.2.2.2 ::2"},
		{"::1 ::2 1.1.1.1", familyAny, 1, "::2 1.1.1.1 ::1"},
		{"1.1.1.1 ::1 ::2 ::3", familyAny, 0, "1.1.1.1 ::1 ::2 ::3"},
		{"::1 ::2", familyIPv4, 0, "::1 ::2"},
	} {
		var addrs []netip.AddrPort
		for _, s := range strings.Fields(tt.in) {
			addrs = append(addrs, netip.AddrPortFrom(netip.MustParseAddr(s), 80))
		}
		var got []string
		for _, a := range interleave(addrs, tt.first, tt.turn) {
			got = append(got, a.Addr().String())
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s, family %d, turn %d: got %s, want %s", tt.in, tt.first, tt.turn, s, tt.want)
		}
	}
}

// closable is a connection that knows whether it was closed.
type closable struct {
	net.Conn
	closed atomic.Bool
}

func (c *closable) Close() error {
	c.closed.Store(true)
	return nil
}

// The next address is tried after a while, or at once when one fails; the first that
// answers wins. When Race returns, no attempt runs, and what answered too late is closed.
func TestRace(t *testing.T) {
	addrs := []netip.AddrPort{netip.MustParseAddrPort("1.1.1.1:80"), netip.MustParseAddrPort("2.2.2.2:80"), netip.MustParseAddrPort("3.3.3.3:80"), netip.MustParseAddrPort("4.4.4.4:80")}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var running atomic.Int32
		var fourth atomic.Bool
		var late, won closable
		a := Race(t.Context(), addrs, func(ctx context.Context, addr string) (net.Conn, error) {
			running.Add(1)
			defer running.Add(-1)
			switch addr {
			case "1.1.1.1:80": // silent
				<-ctx.Done()
				time.Sleep(time.Second) // answers all the same
				return &late, nil
			case "2.2.2.2:80":
				if d := time.Since(start); d != stagger {
					t.Errorf("the second address is tried after %v, want %v", d, stagger)
				}
				return nil, errors.New("refused")
			case "3.3.3.3:80":
				if d := time.Since(start); d != stagger {
					t.Errorf("the third address is tried after %v, want it as soon as the second has failed", d)
				}
				time.Sleep(stagger * 3 / 2)
				return &won, nil
			}
			if d := time.Since(start); d != 2*stagger {
				t.Errorf("the fourth address is tried after %v, want %v", d, 2*stagger)
			}
			fourth.Store(true)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if a.Err != nil || a.Conn != &won || a.Addr != addrs[2] || won.closed.Load() {
			t.Errorf("%+v, want the open connection of the third address", a)
		}
		if !fourth.Load() {
			t.Error("the fourth address isn't tried while the third is silent")
		}
		if n := running.Load(); n != 0 || !late.closed.Load() {
			t.Errorf("%d attempts run, the late connection is closed: %v", n, late.closed.Load())
		}
	})
}
