package static

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestParseRanges(t *testing.T) {
	const size = 26
	for _, tt := range []struct {
		field string
		want  []Range
		v     RangeVerdict
		why   string
	}{
		{"bytes=2-5", []Range{{2, 4}}, RangePartial, "plain"},
		{"Bytes=2-5", []Range{{2, 4}}, RangePartial, "units ignore case"},
		{"bytes=-3", []Range{{23, 3}}, RangePartial, "suffix"},
		{"bytes=24-", []Range{{24, 2}}, RangePartial, "open end"},
		{"bytes=20-1000", []Range{{20, 6}}, RangePartial, "last-pos is cut"},
		{"bytes=-1000", []Range{{0, 26}}, RangePartial, "suffix is cut"},
		{"bytes=0-0", []Range{{0, 1}}, RangePartial, "one byte"},
		{"bytes=25-25", []Range{{25, 1}}, RangePartial, "last byte"},
		{"bytes=26-", nil, RangeUnsatisfiable, "just beyond"},
		{"bytes=100-200", nil, RangeUnsatisfiable, "beyond"},
		{"bytes=-0", nil, RangeUnsatisfiable, "no suffix"},
		{"bytes=5-2", nil, RangeUnsatisfiable, "reversed"},
		{"bytes=a-b", nil, RangeUnsatisfiable, "no digits"},
		{"bytes=1", nil, RangeUnsatisfiable, "no dash"},
		{"bytes=-", nil, RangeUnsatisfiable, "nothing but a dash"},
		{"bytes=1-2-3", nil, RangeUnsatisfiable, "two dashes"},
		{"bytes=+1-2", nil, RangeUnsatisfiable, "a sign"},
		{"bytes= 1-2", []Range{{1, 2}}, RangePartial, "white space around a list element"},
		{"bytes=1 -2", nil, RangeUnsatisfiable, "white space inside"},
		{"bytes=", nil, RangeUnsatisfiable, "empty set"},
		{"bytes=,", nil, RangeUnsatisfiable, "empty elements only"},
		{"items=1-2", nil, RangeIgnored, "unknown unit"},
		{"bytes", nil, RangeIgnored, "no set"},
		{"", nil, RangeIgnored, "no field"},
		{"bytes=0-1,4-5", []Range{{0, 2}, {4, 2}}, RangePartial, "two"},
		{"bytes=4-5,0-1", []Range{{4, 2}, {0, 2}}, RangePartial, "order is kept"},
		{"bytes=0-1 , ,\t4-5,", []Range{{0, 2}, {4, 2}}, RangePartial, "list with holes"},
		{"bytes=0-3,2-5", []Range{{0, 6}}, RangePartial, "overlap"},
		{"bytes=0-1,2-3", []Range{{0, 4}}, RangePartial, "touching"},
		{"bytes=10-11,0-1,8-20,2-9", []Range{{0, 21}}, RangePartial, "a late one bridges all"},
		{"bytes=10-11,0-1,11-12", []Range{{10, 3}, {0, 2}}, RangePartial, "merged at the place of the first"},
		{"bytes=0-0,100-", []Range{{0, 1}}, RangePartial, "unsatisfiable ones are dropped"},
		{"bytes=0-,0-,0-,0-", []Range{{0, 26}}, RangePartial, "CVE-2011-3192"},
		{"bytes=-17208,-9223372036854758792", []Range{{0, 26}}, RangePartial, "CVE-2017-7529"},
		{"bytes=0-99999999999999999999999", []Range{{0, 26}}, RangePartial, "overflow of last-pos"},
		{"bytes=99999999999999999999999-", nil, RangeUnsatisfiable, "overflow of first-pos"},
		{"bytes=9223372036854775807-9223372036854775807", nil, RangeUnsatisfiable, "largest int64"},
		{"bytes=0-0,2-2,4-4,6-6,8-8", nil, RangeIgnored, "more than the limit of four"},
	} {
		got, v := ParseRanges(nil, []byte(tt.field), size, 4)
		if v != tt.v || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v, %d, want %v, %d (%s)", tt.field, got, v, tt.want, tt.v, tt.why)
		}
	}
}

func TestParseRangesEmptyFile(t *testing.T) {
	for field, want := range map[string]RangeVerdict{
		"bytes=0-": RangeUnsatisfiable, "bytes=0-0": RangeUnsatisfiable, "bytes=-0": RangeUnsatisfiable, "bytes=-000": RangeUnsatisfiable,
		"bytes=-5": RangeIgnored, "bytes=-0, -1": RangeIgnored, "bytes=0-, -99999999999999999999": RangeIgnored, "bytes=-5, x": RangeUnsatisfiable,
	} {
		if got, v := ParseRanges(nil, []byte(field), 0, 4); v != want || len(got) != 0 {
			t.Errorf("%q of an empty file: got %v, %d, want %d", field, got, v, want)
		}
	}
}

func TestParseRangesCost(t *testing.T) {
	// Every second byte of a file of 2000: a thousand parts would be a hundred
	// times its size.
	field := []byte("bytes=")
	for i := 0; i < 2000; i += 2 {
		field = fmt.Appendf(field, "%d-%d,", i, i)
	}
	if _, v := ParseRanges(nil, field, 2000, 1<<20); v != RangeIgnored {
		t.Errorf("a thousand tiny parts: got %d, want them ignored", v)
	}
}

// Parts may cost a tenth and 1 KiB more than the whole, and not a byte beyond.
func TestParseRangesCostLimit(t *testing.T) {
	const size, parts = 10_000, 11
	const limit = size + size/10 + smallAllowance
	for over, want := range []RangeVerdict{RangePartial, RangeIgnored} {
		field, left := []byte("bytes="), limit+over-parts*partOverhead
		for i := range parts - 1 {
			field = fmt.Appendf(field, "%d-%d,", 2*i, 2*i)
			left--
		}
		field = fmt.Appendf(field, "%d-%d", 2*parts, 2*parts+left-1)
		if got, v := ParseRanges(nil, field, size, parts); v != want || v == RangePartial && rangesCost(got) != limit {
			t.Errorf("%d bytes over: got %d, want %d", over, v, want)
		}
	}
	if _, v := ParseRanges(nil, []byte("bytes=0-"), 1<<40, 1); v != RangePartial {
		t.Errorf("one range of everything: got %d", v)
	}
}

// What was in dst stays, and is no part of what is merged, counted or dropped.
func TestParseRangesAppends(t *testing.T) {
	was := Range{0, 10}
	for field, want := range map[string][]Range{
		"bytes=5-6,7-8": {was, {5, 4}}, "bytes=0-0,2-2,4-4": {was}, "bytes=30-": {was}, "bytes=1-2,x": {was}, "x=1-2": {was},
	} {
		got, v := ParseRanges([]Range{was}, []byte(field), 26, 2)
		if !slices.Equal(got, want) || (v == RangePartial) != (len(want) > 1) {
			t.Errorf("%q: got %v, %d, want %v", field, got, v, want)
		}
	}
}

func TestContentRange(t *testing.T) {
	for want, got := range map[string][]byte{
		"bytes 0-0/1":     AppendContentRange(nil, Range{0, 1}, 1),
		"bytes 10-19/100": AppendContentRange(nil, Range{10, 10}, 100),
		"x: bytes */100":  AppendUnsatisfied([]byte("x: "), 100),
		"bytes */0":       AppendUnsatisfied(nil, 0),
		"bytes 9223372036854775806-9223372036854775806/9223372036854775807": AppendContentRange(nil, Range{1<<63 - 2, 1}, 1<<63-1),
	} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{"bytes=0-1,4-5", "bytes=-5", "bytes=9223372036854775807-", "bytes=1-,-1,,", "x=1", "bytes=3-1"} {
		f.Add([]byte(s), int64(26))
		f.Add([]byte(s), int64(1<<40))
	}
	f.Fuzz(func(t *testing.T, field []byte, size int64) {
		if size < 0 {
			size = -(size + 1)
		}
		rs, v := ParseRanges(nil, field, size, 16)
		if (v == RangePartial) != (len(rs) > 0) {
			t.Fatalf("verdict %d with %d ranges", v, len(rs))
		}
		if len(rs) > 16 {
			t.Fatalf("%d ranges", len(rs))
		}
		checkRanges(t, rs, size)
	})
}

// checkRanges wants ranges inside of size, none empty, none touching another.
func checkRanges(t *testing.T, rs []Range, size int64) {
	t.Helper()
	for i, r := range rs {
		if r.Length <= 0 || r.Start < 0 || r.Start > size-r.Length {
			t.Fatalf("range %v of %d", r, size)
		}
		for _, o := range rs[:i] {
			if r.Start <= o.Start+o.Length && o.Start <= r.Start+r.Length {
				t.Fatalf("%v and %v touch", o, r)
			}
		}
	}
}

func TestMergeRangesCoversTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		const size = 60
		var rs []Range
		var want [size]bool
		for range 1 + rnd.IntN(10) {
			start := rnd.Int64N(size)
			r := Range{start, 1 + rnd.Int64N(min(8, size-start))}
			rs = append(rs, r)
			for i := r.Start; i <= r.End(); i++ {
				want[i] = true
			}
		}
		in := slices.Clone(rs)
		rs = rs[:mergeRanges(rs)]
		checkRanges(t, rs, size)
		var got [size]bool
		for _, r := range rs {
			for i := r.Start; i <= r.End(); i++ {
				got[i] = true
			}
		}
		if got != want {
			t.Fatalf("%v merged to %v", in, rs)
		}
	}
}

func TestMultipart(t *testing.T) {
	m := Multipart{Boundary: NewBoundary(0xabc, 1), ContentType: "text/plain", Size: 26}
	rs := []Range{{0, 2}, {4, 1}}
	data := "abcdefghijklmnopqrstuvwxyz"
	var out []byte
	for i, r := range rs {
		out = m.AppendPartHead(out, r, i == 0)
		out = append(out, data[r.Start:r.Start+r.Length]...)
	}
	out = m.AppendEnd(out)
	const want = "--abc-1\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/26\r\n\r\nab" +
		"\r\n--abc-1\r\nContent-Type: text/plain\r\nContent-Range: bytes 4-4/26\r\n\r\ne\r\n--abc-1--\r\n"
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if n := m.Len(rs); n != int64(len(want)) {
		t.Errorf("Len is %d, the body has %d", n, len(want))
	}
}
