package page

import (
	"math"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Nanoseconds, 0, "0 ns"},
		{Nanoseconds, 850, "850 ns"},
		{Nanoseconds, 999.9, "1.00 µs"},
		{Nanoseconds, 12345, "12.3 µs"},
		{Nanoseconds, 480_000, "480 µs"},
		{Nanoseconds, 999_600, "1.00 ms"},
		{Nanoseconds, 1_234_567, "1.23 ms"},
		{Nanoseconds, 99_960_000, "100 ms"},
		{Nanoseconds, 2e9, "2.00 s"},
		{Nanoseconds, 75.25e9, "75.2 s"},
		{Bytes, 999, "999 B"},
		{Bytes, 1500, "1.50 kB"},
		{Bytes, 24 << 30, "25.8 GB"},
		{PerSecond, 1234567.4, "1,234,567"},
		{PerSecond, 0.5, "0.50"},
		{PerSecond, 0.0012, "0.0012"},
		{Cores, 0.999, "1.00"},
		{Cores, 0.0025, "0.0025"},
		{Cores, 0.05, "0.05"},
		{Ratio, 1.257, "1.26×"},
		{Count, 70, "70"},
		{Count, math.NaN(), "–"},
		{Count, -1234, "-1,234"},
		{Count, 7, "7"},
		{PerSecond, 70.5, "70.5"},
	} {
		if got := format(test.unit, test.v); got != test.want {
			t.Errorf("format(%s, %v) = %q, want %q", test.unit, test.v, got, test.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 0.5: "0.50 s", -2: "-2 s", 119.5: "120 s", 120: "2:00", 3599: "59:59", 3600: "1:00:00", -150: "-2:30"} {
		if got := seconds(s); got != want {
			t.Errorf("seconds(%v) = %q, want %q", s, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"},
		{"0123456789", 10, "0123456789"},
		{"0123456789a", 10, "0123456789…"},
		{"12345678ä", 9, "12345678…"},
		{"a\xffb", 10, "a\uFFFDb"},
		{"a\r\nb\tc", 10, "a  b c"},
		{"a\x00b\x1b[1m", 10, "a<U+0000>b<U+001B>[1m"},
		{"exe\u202egpj", 20, "exe<U+202E>gpj"},
	} {
		if got := clean(test.in, test.limit); got != test.want {
			t.Errorf("clean(%q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}

func TestShell(t *testing.T) {
	got := shell([]string{"gale", "bench", "http://[::1]:80/?a=1&b=2", "-c", "64", "", "it's", "a b", "plain-_./:=@%+,"})
	want := `gale bench 'http://[::1]:80/?a=1&b=2' -c 64 '' 'it'\''s' 'a b' plain-_./:=@%+,`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(shell([]string{"$(x)"}), "$(x)\x00") {
		t.Error("not quoted")
	}
}
