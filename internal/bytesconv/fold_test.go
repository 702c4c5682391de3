package bytesconv

import (
	"bytes"
	"testing"
)

// slowFold is EqualFold written the obvious way.
func slowFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if Lower[a[i]] != Lower[b[i]] {
			return false
		}
	}
	return true
}

func TestEqualFoldEveryBytePair(t *testing.T) {
	for _, n := range []int{1, 3, 4, 7, 8, 9, 15, 16, 17, 31} {
		for _, at := range []int{0, n / 2, n - 1} {
			a := bytes.Repeat([]byte("x"), n)
			b := bytes.Repeat([]byte("X"), n)
			for c := range 256 {
				for d := range 256 {
					a[at], b[at] = byte(c), byte(d)
					if got, want := EqualFold(a, b), Lower[c] == Lower[d]; got != want {
						t.Fatalf("EqualFold(%q, %q) = %v, want %v", a, b, got, want)
					}
				}
			}
		}
	}
	if EqualFold([]byte("abc"), []byte("abcd")) {
		t.Error("slices of different lengths are never equal")
	}
	if !EqualFold(nil, []byte{}) || !EqualFoldString([]byte("HoSt"), "host") {
		t.Error("want equal")
	}
}

func TestLowerInPlaceEveryByte(t *testing.T) {
	all := make([]byte, 256+5)
	for i := range all {
		all[i] = byte(i)
	}
	got := AppendLower([]byte("P"), all)
	if got[0] != 'P' {
		t.Error("the prefix must stay")
	}
	for i, c := range got[1:] {
		if c != Lower[byte(i)] {
			t.Errorf("byte %#x became %#x", byte(i), c)
		}
	}
}

func FuzzEqualFold(f *testing.F) {
	f.Add([]byte("Content-Type"), []byte("content-type"))
	f.Add([]byte("Content-Type"), []byte("content\rtype"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if got, want := EqualFold(a, b), slowFold(a, b); got != want {
			t.Fatalf("EqualFold(%q, %q) = %v", a, b, got)
		}
		low := AppendLower(nil, a)
		if !EqualFold(a, low) {
			t.Fatalf("%q does not equal its own lower case", a)
		}
	})
}

func BenchmarkEqualFold(b *testing.B) {
	for _, s := range []string{"Host", "Content-Type", "If-Modified-Since"} {
		x, y := []byte(s), bytes.ToLower([]byte(s))
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				EqualFold(x, y)
			}
		})
	}
}
