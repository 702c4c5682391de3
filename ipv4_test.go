package gale

import (
	"net"
	"net/netip"
	"testing"
)

func TestParseIPv4(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{"1.2.3.4", "1.2.3.4", ""},
		{"0.0.0.0", "0.0.0.0", ""},
		{"255.255.255.255", "255.255.255.255", ""},
		{"1.2.3", "1.2.0.0", `cannot find dot in ip string "1.2.3"`},
		{"1.2.3.4.5", "1.2.3.0", `cannot parse ip string "1.2.3.4.5": unexpected trailing char found: expecting 0-9`},
		{"256.1.1.1", "0.0.0.0", `cannot parse ip string "256.1.1.1": ip part cannot exceed 255: parsed 256`},
		{"1..2.3", "1.0.0.0", `cannot parse ip string "1..2.3": empty integer`},
		{"a.b.c.d", "0.0.0.0", `cannot parse ip string "a.b.c.d": unexpected first char found: expecting 0-9`},
		{"01.2.3.4", "0.0.0.0", `cannot parse ip string "01.2.3.4": ip part has leading zeros`},
		{"", "<nil>", "empty ip address string"},
	} {
		got, err := ParseIPv4(nil, []byte(tt.in))
		if got.String() != tt.want || errorOr(err) != tt.err {
			t.Errorf("ParseIPv4(%q) = %v, %v, want %s, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
	dst := net.IP{9, 9, 9, 9}
	if got, err := ParseIPv4(dst, []byte("10.0.0.1")); err != nil || &got[0] != &dst[0] || string(AppendIPv4(nil, got)) != "10.0.0.1" {
		t.Errorf("got %v, %v", got, err)
	}
	if got := string(AppendIPv4([]byte("x"), net.ParseIP("10.0.0.255"))); got != "x10.0.0.255" {
		t.Errorf("16-byte form: %q", got)
	}
	if got := string(AppendIPv4([]byte("x"), net.IPv6loopback)); got != "xnon-v4 ip passed to AppendIPv4" {
		t.Errorf("IPv6: %q", got)
	}
}

func FuzzParseIPv4(f *testing.F) {
	f.Add("1.2.3.4")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseIPv4(nil, []byte(s))
		want, werr := netip.ParseAddr(s)
		if ok := werr == nil && want.Is4(); ok != (err == nil) || ok && want.String() != got.String() {
			t.Fatalf("%q: %v, %v; netip: %v, %v", s, got, err, want, werr)
		}
	})
}
