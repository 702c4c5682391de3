package message

import (
	"html"
	"math"
	"net"
	"net/netip"
	"testing"

	"github.com/galehttp/gale"
)

func TestAppendHTMLEscape(t *testing.T) {
	for _, s := range []string{"", "plain", "<b>&\"'</b>", "a\x00b`/", "\xff<\xfe", "&&"} {
		if got, want := string(gale.AppendHTMLEscape([]byte("x"), s)), "x"+html.EscapeString(s); got != want {
			t.Errorf("AppendHTMLEscape(%q) = %q, want %q", s, got, want)
		}
		if got, want := string(gale.AppendHTMLEscapeBytes(nil, []byte(s))), html.EscapeString(s); got != want {
			t.Errorf("AppendHTMLEscapeBytes(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestParseUfloat(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want float64
		err  string
	}{
		{"0", 0, ""}, {"1.5", 1.5, ""}, {"+1", 1, ""}, {"1e3", 1000, ""}, {"1E-3", 0.001, ""}, {"1.", 1, ""}, {".5", 0.5, ""},
		{"9999999999999999999999", 1e22, ""},
		{"", -1, `strconv.ParseFloat: parsing "": invalid syntax`},
		{"-1.5", -1, "gale: negative input is invalid"},
		{"1e", -1, `strconv.ParseFloat: parsing "1e": invalid syntax`},
		{"1.2.3", -1, `strconv.ParseFloat: parsing "1.2.3": invalid syntax`},
		{"0x10", -1, `strconv.ParseFloat: parsing "0x10": invalid syntax`},
		{"1_0", -1, `strconv.ParseFloat: parsing "1_0": invalid syntax`},
		{"NaN", -1, `strconv.ParseFloat: parsing "NaN": invalid syntax`},
		{"inf", -1, `strconv.ParseFloat: parsing "inf": invalid syntax`},
		{"1e400", -1, `strconv.ParseFloat: parsing "1e400": value out of range`},
	} {
		got, err := gale.ParseUfloat([]byte(tt.in))
		if got != tt.want || errorOr(err) != tt.err {
			t.Errorf("ParseUfloat(%q) = %v, %v, want %v, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

// errorOr returns the text of err, or "" for nil.
func errorOr(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAppendUint(t *testing.T) {
	if got := string(gale.AppendUint([]byte("n="), math.MaxInt32)); got != "n=2147483647" {
		t.Errorf("got %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("want a panic for a negative number")
		}
	}()
	gale.AppendUint(nil, -1)
}

func TestParseIPv4(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{"1.2.3.4", "1.2.3.4", ""},
		{"0.0.0.0", "0.0.0.0", ""},
		{"255.255.255.255", "255.255.255.255", ""},
		{"1.2.3", "1.2.0.0", `gale: cannot find dot in ip string "1.2.3"`},
		{"1.2.3.4.5", "1.2.3.0", `gale: cannot parse ip string "1.2.3.4.5": unexpected trailing char found: expecting 0-9`},
		{"256.1.1.1", "0.0.0.0", `gale: cannot parse ip string "256.1.1.1": ip part cannot exceed 255: parsed 256`},
		{"1..2.3", "1.0.0.0", `gale: cannot parse ip string "1..2.3": empty integer`},
		{"a.b.c.d", "0.0.0.0", `gale: cannot parse ip string "a.b.c.d": unexpected first char found: expecting 0-9`},
		{"01.2.3.4", "0.0.0.0", `gale: cannot parse ip string "01.2.3.4": ip part has leading zeros`},
		{"", "<nil>", "gale: empty ip address string"},
	} {
		got, err := gale.ParseIPv4(nil, []byte(tt.in))
		if got.String() != tt.want || errorOr(err) != tt.err {
			t.Errorf("ParseIPv4(%q) = %v, %v, want %s, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
	dst := net.IP{9, 9, 9, 9}
	if got, err := gale.ParseIPv4(dst, []byte("10.0.0.1")); err != nil || &got[0] != &dst[0] || string(gale.AppendIPv4(nil, got)) != "10.0.0.1" {
		t.Errorf("got %v, %v", got, err)
	}
	if got := string(gale.AppendIPv4([]byte("x"), net.ParseIP("10.0.0.255"))); got != "x10.0.0.255" {
		t.Errorf("16-byte form: %q", got)
	}
	if got := string(gale.AppendIPv4([]byte("x"), net.IPv6loopback)); got != "xnon-v4 ip passed to AppendIPv4" {
		t.Errorf("IPv6: %q", got)
	}
}

func FuzzParseIPv4(f *testing.F) {
	f.Add("1.2.3.4")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := gale.ParseIPv4(nil, []byte(s))
		want, werr := netip.ParseAddr(s)
		if ok := werr == nil && want.Is4(); ok != (err == nil) || ok && want.String() != got.String() {
			t.Fatalf("%q: %v, %v; netip: %v, %v", s, got, err, want, werr)
		}
	})
}
