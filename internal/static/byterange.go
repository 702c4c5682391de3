package static

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Range is the Length bytes of a representation from offset Start on. ParseRanges
// never returns a Length of 0.
type Range struct {
	Start, Length int64
}

// End returns the offset of the last byte of r, the last-pos of RFC 9110
// section 14.1.2.
func (r Range) End() int64 { return r.Start + r.Length - 1 }

// RangeVerdict says how to answer a request with a Range field.
type RangeVerdict uint8

const (
	// RangeIgnored means 200 with the whole representation (RFC 9110 section 14.2).
	RangeIgnored RangeVerdict = iota
	// RangePartial means 206 with the ranges returned (RFC 9110 section 15.3.7).
	RangePartial
	// RangeUnsatisfiable means 416 with "Content-Range: bytes */size" (RFC 9110
	// section 15.5.17).
	RangeUnsatisfiable
)

// For ParseRanges: about how many bytes one part of a multipart/byteranges body
// needs besides its data, and by how many bytes, besides a tenth, an answer may
// exceed the whole representation.
const (
	partOverhead   = 200
	smallAllowance = 1024
)

// ParseRanges reads the value of a Range field for a representation of size bytes
// and appends to dst the ranges to send, in the order asked for. The earlier
// contents of dst stay. If the verdict isn't RangePartial, nothing is appended.
//
//	ranges-specifier = range-unit "=" range-set
//	range-set        = 1#range-spec
//	range-spec       = first-pos "-" [ last-pos ] / "-" suffix-length
//
// (RFC 9110 section 14.1.) A field with an unknown unit, or with more than max
// ranges, is ignored. So is one with a suffix of a representation without bytes, which can be
// satisfied, but isn't a range that Content-Range could name. A field in unit bytes that breaks the grammar, or has a
// last-pos before its first-pos, is refused as unsatisfiable; the RFC leaves that
// open. Numbers of more than 63 bits count as the largest one.
//
// Overlapping and adjoining ranges are merged into one, in the place of the first
// of them, so no byte is sent twice. If several ranges are left and they would need
// more bytes than the whole representation plus a tenth plus 1 KiB, the field is
// ignored: a request for parts never costs much more than one for everything.
func ParseRanges(dst []Range, field []byte, size int64, max int) ([]Range, RangeVerdict) {
	set, ok := cutBytesUnit(field)
	if !ok {
		return dst, RangeIgnored
	}
	base, specs, satisfied := len(dst), 0, false
	for spec := range bytesconv.Elements([][]byte{set}) {
		if specs++; specs > max {
			return dst[:base], RangeIgnored
		}
		r, valid := parseSpec(spec, size)
		if !valid {
			return dst[:base], RangeUnsatisfiable
		}
		if r.Length > 0 {
			dst = append(dst, r)
		}
		satisfied = satisfied || isSuffix(spec)
	}
	if len(dst) == base && satisfied {
		return dst, RangeIgnored
	}
	if len(dst) == base {
		return dst, RangeUnsatisfiable
	}
	dst = dst[:base+mergeRanges(dst[base:])]
	if len(dst)-base > 1 && rangesCost(dst[base:]) > size+size/10+smallAllowance {
		return dst[:base], RangeIgnored
	}
	return dst, RangePartial
}

// cutBytesUnit returns the text after "bytes=" in field. Names of range units are
// case-insensitive (RFC 9110 section 14.1).
func cutBytesUnit(field []byte) (set []byte, ok bool) {
	const unit = "bytes="
	field = bytesconv.TrimOWS(field)
	if len(field) < len(unit) || field[len(unit)-1] != '=' {
		return nil, false
	}
	for i := range len(unit) - 1 {
		if field[i]|0x20 != unit[i] {
			return nil, false
		}
	}
	return field[len(unit):], true
}

// parseSpec resolves one range-spec against size. A range outside of the
// representation is valid and has length 0.
func parseSpec(spec []byte, size int64) (r Range, valid bool) {
	first, n := parsePos(spec)
	if n >= len(spec) || spec[n] != '-' {
		return Range{}, false
	}
	last, m := parsePos(spec[n+1:])
	if n+1+m != len(spec) {
		return Range{}, false
	}
	switch {
	case n == 0 && m == 0:
		return Range{}, false
	case n == 0: // suffix-length
		length := min(last, size)
		return Range{Start: size - length, Length: length}, true
	case m == 0:
		last = size - 1
	case last < first:
		return Range{}, false
	}
	if first >= size {
		return Range{}, true
	}
	last = min(last, size-1)
	return Range{Start: first, Length: last - first + 1}, true
}

// isSuffix reports whether a valid range-spec is a suffix of a length other than 0. Such a range
// can always be satisfied (RFC 9110 section 14.1.2).
func isSuffix(spec []byte) bool { return spec[0] == '-' && len(bytes.Trim(spec[1:], "0")) > 0 }

// parsePos reads the digits that b begins with and returns their value, at most the
// largest int64, and their count.
func parsePos(b []byte) (v int64, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		d := int64(b[n] - '0')
		if v > (math.MaxInt64-d)/10 {
			v = math.MaxInt64
		} else {
			v = v*10 + d
		}
		n++
	}
	return v, n
}

// mergeRanges joins the ranges in rs that overlap or touch, in place, and returns
// how many are left. A joined range has the place of its first part.
func mergeRanges(rs []Range) int {
	if len(rs) < 2 {
		return len(rs)
	}
	type placed struct {
		Range
		at int
	}
	var buf [32]placed
	all := buf[:0]
	for i, r := range rs {
		all = append(all, placed{r, i})
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.Start, b.Start) })
	last := 0
	for _, p := range all[1:] {
		l := &all[last]
		if p.Start > l.Start+l.Length {
			last++
			all[last] = p
			continue
		}
		l.Length = max(l.Start+l.Length, p.Start+p.Length) - l.Start
		l.at = min(l.at, p.at)
	}
	all = all[:last+1]
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for i, p := range all {
		rs[i] = p.Range
	}
	return len(all)
}

func rangesCost(rs []Range) int64 {
	var sum int64
	for _, r := range rs {
		sum += r.Length + partOverhead
	}
	return sum
}
