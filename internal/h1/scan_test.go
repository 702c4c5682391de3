package h1

import (
	"bytes"
	"testing"

	"github.com/galehttp/gale/internal/bytesconv"
)

// atEveryPlace calls f with a byte at each place of words of a and of 0xff,
// which carries when one is added.
func atEveryPlace(t *testing.T, f func(t *testing.T, b []byte, at int, c byte)) {
	for _, fill := range []byte{'a', 0xff, ' ', '~'} {
		for n := 1; n <= 20; n++ {
			for at := range n {
				for c := range 256 {
					b := bytes.Repeat([]byte{fill}, n)
					b[at] = byte(c)
					f(t, b, at, byte(c))
				}
			}
		}
	}
}

func firstNot(b []byte, ok func(c byte) bool) int {
	for i, c := range b {
		if !ok(c) {
			return i
		}
	}
	return len(b)
}

func TestSkip(t *testing.T) {
	text := func(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f }
	target := func(c byte) bool { return c > ' ' && c != '#' && c != 0x7f }
	atEveryPlace(t, func(t *testing.T, b []byte, at int, c byte) {
		if got, want := skipText(b, 0), firstNot(b, text); got != want {
			t.Fatalf("skipText(%q) = %d, want %d", b, got, want)
		}
		if got, want := skipTarget(b, 0), firstNot(b, target); got != want {
			t.Fatalf("skipTarget(%q) = %d, want %d", b, got, want)
		}
		if got, want := isName(b), bytesconv.IsToken(b); got != want {
			t.Fatalf("isName(%q) = %v", b, got)
		}
	})
}

func TestPlain(t *testing.T) {
	isPlain := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
	}
	for _, fill := range []byte{'a', 'Z', '0', '9', '-', '.'} {
		for at := range 8 {
			for c := range 256 {
				b := bytes.Repeat([]byte{fill}, 8)
				b[at] = byte(c)
				want := firstNot(b, isPlain) == 8
				if got := plain(word(b)); got != want {
					t.Fatalf("plain(%q) = %v", b, got)
				}
				host := firstNot(b, func(c byte) bool { return isPlain(c) || c == '.' }) == 8
				if got := plainHost(word(b)); got != host {
					t.Fatalf("plainHost(%q) = %v", b, got)
				}
			}
		}
	}
}
