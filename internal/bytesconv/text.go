package bytesconv

import "encoding/binary"

// IsText reports whether b has no control characters except tabs. This is what a
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

// IsTarget reports whether b has no control characters, spaces or "#", which can't
// stand in a request-target (RFC 9112 section 3.2).
func IsTarget(b []byte) bool {
	n := len(b)
	if n < 8 {
		return isTargetShort(b)
	}
	for i := 0; i+8 < n; i += 8 {
		if notTarget(binary.LittleEndian.Uint64(b[i:])) != 0 {
			return isTargetShort(b) // the marks may be false positives
		}
	}
	// The last word overlaps the one before unless n is a multiple of 8.
	return notTarget(binary.LittleEndian.Uint64(b[n-8:])) == 0 || isTargetShort(b)
}

// notTarget isn't 0 if one of the eight bytes of w is a control character, a space
// or "#".
func notTarget(w uint64) uint64 { return controls(w) | zeros(w^' '*ones) | zeros(w^'#'*ones) }

// zeros is not 0 if one of the eight bytes of w is 0.
func zeros(w uint64) uint64 { return (w - ones) &^ w & highs }

func isTargetShort(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// PlainHost returns the length of a prefix of b that consists of lower-case
// letters, digits, hyphens and dots: most hosts consist of these.
func PlainHost(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		letter := (w + (0x80-'a')*ones) &^ (w + (0x80-'z'-1)*ones)
		digit := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones)
		hyphen := ^((w ^ '-'*ones) + 0x7f*ones)
		dot := ^((w ^ '.'*ones) + 0x7f*ones)
		if w&highs != 0 || (letter|digit|hyphen|dot)&highs != highs {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c-'a' > 'z'-'a' && c-'0' > 9 && c != '-' && c != '.' {
			break
		}
	}
	return i
}

// IsASCII reports whether all bytes of b are below 0x80.
func IsASCII(b []byte) bool {
	n := len(b)
	if n < 8 {
		all := byte(0)
		for _, c := range b {
			all |= c
		}
		return all < 0x80
	}
	all := binary.LittleEndian.Uint64(b[n-8:])
	for i := 0; i+8 <= n; i += 8 {
		all |= binary.LittleEndian.Uint64(b[i:])
	}
	return all&highs == 0
}

// NeutralizeText replaces the bytes that IsText doesn't allow by spaces, in place.
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

// CopyText copies src to dst, which must have the same length. Bytes that IsText
// doesn't allow become spaces. For the usual length of a field value this is as
// fast as a copy, because the bytes are checked while they are copied.
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

// nameUpper and nameLower map the characters of a token to their upper-case and
// lower-case form in a field name. They are 0 for all other characters.
var nameUpper, nameLower = func() (up, low [256]byte) {
	for c := range 256 {
		if Token[c] {
			up[c], low[c] = Upper[c], Lower[c]
		}
	}
	return up, low
}()

// CopyCanonicalName copies the field name src to dst, which must have the same
// length, in its customary spelling (see AppendCanonicalName). It returns whether
// src is a token; if not, the contents of dst are undefined.
func CopyCanonicalName(dst, src []byte) bool {
	n := len(src)
	if n < 8 || len(dst) < n {
		return copyName(dst, src)
	}
	// Eight characters at a time. Each step marks bytes by their high bit; no byte
	// carries into the next, because all bytes are below 0x80 when the marks are
	// used. up marks the letters at the start and after hyphens.
	up := uint64(0x80)
	for i := 0; ; i += 8 {
		if i > n-8 { // the last word overlaps the one before
			i, up = n-8, 0
			if src[i-1] == '-' {
				up = 0x80
			}
		}
		w := binary.LittleEndian.Uint64(src[i:])
		low := w | 0x20*ones
		letter := (low + (0x80-'a')*ones) &^ (low + (0x80-'z'-1)*ones) & highs
		digit := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones) & highs
		hyphen := ^((w ^ '-'*ones) + 0x7f*ones) & highs
		if w&highs != 0 || letter|digit|hyphen != highs {
			return copyName(dst, src) // other characters, perhaps valid ones
		}
		capital := (hyphen<<8 | up) & letter
		binary.LittleEndian.PutUint64(dst[i:], (w|letter>>2)&^(capital>>2))
		if i == n-8 {
			return true
		}
		up = hyphen >> 56
	}
}

// copyName is CopyCanonicalName for any name, byte by byte.
func copyName(dst, src []byte) bool {
	if len(src) == 0 || len(dst) < len(src) {
		return false
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

// TrimOWS returns b without spaces and tabs at its ends (OWS, RFC 9110 section
// 5.6.3).
func TrimOWS(b []byte) []byte {
	from, to := TrimRange(b, 0, len(b))
	return b[from:to]
}

// TrimRange returns the bounds of b[from:to] without spaces and tabs at its ends.
func TrimRange(b []byte, from, to int) (int, int) {
	for from < to && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	for to > from && (b[to-1] == ' ' || b[to-1] == '\t') {
		to--
	}
	return from, to
}
