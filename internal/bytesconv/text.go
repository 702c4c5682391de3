package bytesconv

import "encoding/binary"

// IsText reports whether b has no control characters but tabs, which is what a
// field value may consist of (RFC 9110 section 5.5).
func IsText(b []byte) bool {
	n := len(b)
	if n < 8 {
		return isTextShort(b)
	}
	for i := 0; i+8 < n; i += 8 {
		if controls(binary.LittleEndian.Uint64(b[i:])) != 0 {
			return isTextShort(b)
		}
	}
	// The last word overlaps the one before unless n is a multiple of 8.
	return controls(binary.LittleEndian.Uint64(b[n-8:])) == 0 || isTextShort(b)
}

// controls is not 0 if one of the eight bytes of w is a control character or a
// tab.
func controls(w uint64) uint64 { return ((w - ' '*ones) | (w + ones)) &^ w & highs }

func isTextShort(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// NeutralizeText replaces what IsText objects to by spaces, in place.
func NeutralizeText(b []byte) {
	if !IsText(b) {
		neutralizeText(b)
	}
}

func neutralizeText(b []byte) {
	for i, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			b[i] = ' '
		}
	}
}

// CopyText copies src to dst, which must be as long, replacing what IsText
// objects to by spaces. Looking at the bytes while they are copied makes this as
// fast as a copy for the usual length of a field value.
func CopyText(dst, src []byte) {
	n := len(src)
	if n < 8 || n > 64 || len(dst) < n {
		copy(dst, src)
		NeutralizeText(dst[:n])
		return
	}
	dst = dst[:n]
	last := binary.LittleEndian.Uint64(src[n-8:])
	bad := controls(last)
	for i := 0; i < n-8; i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		bad |= controls(w)
		binary.LittleEndian.PutUint64(dst[i:], w)
	}
	binary.LittleEndian.PutUint64(dst[n-8:], last)
	if bad != 0 {
		neutralizeText(dst)
	}
}

// nameUpper and nameLower spell the characters of a token for their place in a
// field name; they are 0 for all other characters.
var nameUpper, nameLower = func() (up, low [256]byte) {
	for c := range 256 {
		if Token[c] {
			up[c], low[c] = Upper[c], Lower[c]
		}
	}
	return up, low
}()

// CopyCanonicalName copies the field name src to dst, which must be as long, in
// its customary spelling (see AppendCanonicalName), checking it on the way. It
// reports whether src is a token; if not, what is in dst is of no use.
func CopyCanonicalName(dst, src []byte) bool {
	if len(src) == 0 || len(dst) < len(src) {
		return false
	}
	if isCanonical(src) {
		copy(dst, src)
		return true
	}
	table := &nameUpper
	for i, c := range src {
		v := table[c]
		if v == 0 {
			return false
		}
		dst[i] = v
		table = &nameLower
		if c == '-' {
			table = &nameUpper
		}
	}
	return true
}

// isCanonical reports whether name is in its customary spelling already, which
// costs a fraction of spelling it. It says no to names of less than eight bytes
// and to those with other characters than letters, digits and hyphens.
func isCanonical(name []byte) bool {
	n := len(name)
	if n < 8 {
		return false
	}
	start := uint64(0x80) // the high bit of the first byte: it begins the name
	for i := 0; i+8 < n; i += 8 {
		hyphens, ok := canonicalWord(binary.LittleEndian.Uint64(name[i:]), start)
		if !ok {
			return false
		}
		start = hyphens >> 56
	}
	if n > 8 {
		start = 0 // the last word overlaps the one before unless n is a multiple of 8
		if name[n-9] == '-' {
			start = 0x80
		}
	}
	_, ok := canonicalWord(binary.LittleEndian.Uint64(name[n-8:]), start)
	return ok
}

// canonicalWord reports whether the letters of w are upper case where start or
// a hyphen before them says so, and lower case elsewhere, and whether all else is
// digits and hyphens. It marks the hyphens by the high bit of their bytes.
func canonicalWord(w, start uint64) (hyphens uint64, ok bool) {
	upper := (w + (0x80-'A')*ones) &^ (w + (0x80-'Z'-1)*ones) & highs
	lower := (w + (0x80-'a')*ones) &^ (w + (0x80-'z'-1)*ones) & highs
	digits := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones) & highs
	hyphens = ^((w ^ '-'*ones) + 0x7f*ones) & highs
	start |= hyphens << 8
	return hyphens, w&highs == 0 && upper|lower|digits|hyphens == highs && upper&^start == 0 && lower&start == 0
}
