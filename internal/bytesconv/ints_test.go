package bytesconv

import (
	"math"
	"strconv"
	"testing"
)

func TestParseUint(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
		err  error
	}{
		{"0", 0, nil},
		{"12", 12, nil},
		{"000000000000000000000000000000012", 12, nil},
		{strconv.Itoa(math.MaxInt), math.MaxInt, nil},
		{"", -1, ErrEmptyInt},
		{"-1", -1, ErrTrailingChar},
		{"+1", -1, ErrTrailingChar},
		{"1a", -1, ErrTrailingChar},
		{" 1", -1, ErrTrailingChar},
		{"9223372036854775808", -1, ErrIntTooLarge},
		{"18446744073709551617", -1, ErrIntTooLarge},
		{"99999999999999999999999", -1, ErrIntTooLarge},
	} {
		got, err := ParseUint([]byte(tt.in))
		if got != tt.want || err != tt.err {
			t.Errorf("ParseUint(%q) = %d, %v, want %d, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
	if v, n, err := ParseUintPrefix([]byte("12.3")); v != 12 || n != 2 || err != nil {
		t.Errorf("ParseUintPrefix = %d, %d, %v", v, n, err)
	}
}

func FuzzParseUint(f *testing.F) {
	f.Add("12")
	f.Add("9223372036854775808")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseUint([]byte(s))
		// strconv takes a sign too; apart from that the two must agree.
		want, werr := strconv.Atoi(s)
		if s != "" && (s[0] == '-' || s[0] == '+') {
			if err == nil {
				t.Fatalf("ParseUint(%q) took a sign", s)
			}
			return
		}
		if (err == nil) != (werr == nil) || err == nil && got != want {
			t.Fatalf("ParseUint(%q) = %d, %v; strconv: %d, %v", s, got, err, want, werr)
		}
	})
}

func TestAppendNumbers(t *testing.T) {
	for _, tt := range []struct {
		n        int
		dec, hex string
	}{
		{0, "0", "0"}, {9, "9", "9"}, {10, "10", "a"}, {255, "255", "ff"}, {4096, "4096", "1000"},
		{math.MaxInt32, "2147483647", "7fffffff"},
	} {
		if got := string(AppendInt([]byte("x"), tt.n)); got != "x"+tt.dec {
			t.Errorf("AppendInt(%d) = %q", tt.n, got)
		}
		if got := string(AppendHex([]byte("x"), uint64(tt.n))); got != "x"+tt.hex {
			t.Errorf("AppendHex(%d) = %q", tt.n, got)
		}
	}
	if got := string(AppendInt(nil, -7)); got != "-7" {
		t.Errorf("AppendInt(-7) = %q", got)
	}
}

func TestAppendIntLengths(t *testing.T) {
	for p := uint64(1); p <= math.MaxInt; p *= 10 {
		for _, n := range []int{int(p) - 1, int(p), int(p) + 1, int(p) + int(p)/2} {
			for _, dst := range [][]byte{nil, []byte("ab"), make([]byte, 3, 64)} {
				want := strconv.AppendInt(append([]byte(nil), dst...), int64(n), 10)
				if got := AppendInt(dst, n); string(got) != string(want) {
					t.Errorf("AppendInt(%q, %d) = %q", dst, n, got)
				}
			}
		}
		if p > math.MaxInt/10 {
			break
		}
	}
}
