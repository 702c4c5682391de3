package bytesconv

import "encoding/binary"

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// lower8 maps the letters A-Z among the eight bytes of x to a-z. The seven low bits
// of every byte are added to two constants. The high bits of the sums say "at least
// 'A'" and "more than 'Z'". No byte carries into the next.
func lower8(x uint64) uint64 {
	low := x &^ highs
	fromA := low + (0x80-'A')*ones
	pastZ := low + (0x80-'Z'-1)*ones
	return x | (fromA&^pastZ&^x&highs)>>2
}

func lower4(x uint32) uint32 { return uint32(lower8(uint64(x))) }

// EqualFold reports whether a and b are equal except for the case of the letters
// A-Z. Other letters are compared byte by byte, as HTTP requires (RFC 9110 section
// 5.1).
func EqualFold(a, b []byte) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	if n >= 8 {
		i := 0
		for ; i+8 < n; i += 8 {
			if lower8(binary.LittleEndian.Uint64(a[i:])) != lower8(binary.LittleEndian.Uint64(b[i:])) {
				return false
			}
		}
		// The last word overlaps the one before unless n is a multiple of 8.
		return lower8(binary.LittleEndian.Uint64(a[n-8:])) == lower8(binary.LittleEndian.Uint64(b[n-8:]))
	}
	if n >= 4 {
		return lower4(binary.LittleEndian.Uint32(a)) == lower4(binary.LittleEndian.Uint32(b)) &&
			lower4(binary.LittleEndian.Uint32(a[n-4:])) == lower4(binary.LittleEndian.Uint32(b[n-4:]))
	}
	for i, c := range a {
		if Lower[c] != Lower[b[i]] {
			return false
		}
	}
	return true
}

// EqualFoldString is EqualFold with a string on the right.
func EqualFoldString(a []byte, b string) bool { return EqualFold(a, S2B(b)) }

// LowerInPlace maps the letters A-Z of b to a-z.
func LowerInPlace(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, lower8(binary.LittleEndian.Uint64(b)))
		b = b[8:]
	}
	for i, c := range b {
		b[i] = Lower[c]
	}
}

// AppendLower appends src to dst with the letters A-Z mapped to a-z.
func AppendLower(dst, src []byte) []byte {
	n := len(dst)
	dst = append(dst, src...)
	LowerInPlace(dst[n:])
	return dst
}
