package hpack

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// unhex returns the bytes that s, which may have spaces, describes.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(s), []byte(" "), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseInteger(t *testing.T) {
	for _, c := range []struct {
		name, in string
		mask     byte
		want     uint32
		n        int
		err      error
	}{
		{name: "10 in five bits (C.1.1)", in: "0a", mask: 0x1f, want: 10, n: 1},
		{name: "1337 in five bits (C.1.2)", in: "1f9a0a", mask: 0x1f, want: 1337, n: 3},
		{name: "42 in eight bits (C.1.3)", in: "2a", mask: 0xff, want: 42, n: 1},
		{name: "bits before the prefix", in: "ea", mask: 0x1f, want: 10, n: 1},
		{name: "the largest without more bytes", in: "7e", mask: 0x7f, want: 126, n: 1},
		{name: "the smallest with more bytes", in: "7f00", mask: 0x7f, want: 127, n: 2},
		{name: "bytes after it", in: "7f00ff", mask: 0x7f, want: 127, n: 2},
		{name: "the largest", in: "7fffffff7f", mask: 0x7f, want: 127 + 1<<28 - 1, n: 5},
		{name: "zeros at its end", in: "7f81808000", mask: 0x7f, want: 128, n: 5},
		{name: "one byte too many", in: "7fffffffff00", mask: 0x7f, err: ErrInteger},
		{name: "2^32+2 does not wrap", in: "ff83ffffff0f", mask: 0x7f, err: ErrInteger},
		{name: "more than 64 bits", in: "7fffffffffffffffffff7f", mask: 0x7f, err: ErrInteger},
		{name: "zeros without end", in: "7f80808080808080808000", mask: 0x7f, err: ErrInteger},
		{name: "no second byte", in: "7f", mask: 0x7f, err: ErrTruncated},
		{name: "no fifth byte", in: "7fffffff", mask: 0x7f, err: ErrTruncated},
	} {
		v, n, err := parseInteger(unhex(t, c.in), c.mask)
		if err != c.err || err == nil && (v != c.want || n != c.n) {
			t.Errorf("%s: %d, %d bytes, %v; want %d, %d bytes, %v", c.name, v, n, err, c.want, c.n, c.err)
		}
	}
}

// What is appended is parsed as the same, and no shorter part of it as anything.
func TestIntegerRoundTrip(t *testing.T) {
	for _, mask := range []byte{0x0f, 0x1f, 0x3f, 0x7f} {
		for i := range uint32(5000) {
			v := i
			if i > 1000 {
				v = gate.Rand.Uint32() >> (4 + gate.Rand.IntN(25))
			}
			b := appendInteger(nil, ^mask, mask, v)
			if b[0]&^mask != ^mask {
				t.Fatalf("%d: the bits before the prefix are lost in %x", v, b)
			}
			if got, n, err := parseInteger(b, mask); got != v || n != len(b) || err != nil {
				t.Fatalf("%d: got %d, %d bytes of %x, %v", v, got, n, b, err)
			}
			for k := 1; k < len(b); k++ {
				if _, _, err := parseInteger(b[:k], mask); err != ErrTruncated {
					t.Fatalf("%d: %x of %x: %v", v, b[:k], b, err)
				}
			}
		}
	}
}
