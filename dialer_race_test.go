package gale

import (
	"net/netip"
	"strings"
	"testing"
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
