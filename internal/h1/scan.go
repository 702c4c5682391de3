package h1

import (
	"encoding/binary"
	"math/bits"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Words of eight bytes are looked at together: the high bit of each byte of a
// result says whether something holds for that byte, and the lowest such bit
// is the first byte in memory (words are loaded little-endian).
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// below marks the bytes of w that are less than n (n <= 0x80), and may mark
// bytes above such a one by mistake.
func below(w, n uint64) uint64 { return (w - n*ones) &^ w & highs }

// equal marks the bytes of w that are c, and may mark bytes above such a one
// by mistake.
func equal(w, c uint64) uint64 {
	w ^= c * ones
	return (w - ones) &^ w & highs
}

// notText marks the bytes of w that are control characters (below SP, or
// DEL). It may mark a byte by mistake, so look at the one that it points to.
func notText(w uint64) uint64 { return ((w - ' '*ones) | (w + ones)) &^ w & highs }

// first returns the index of the first marked byte.
func first(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// isText tells the bytes of a field value: everything but control characters,
// with HTAB (RFC 9110 section 5.5).
func isText(c byte) bool { return c >= ' ' && c != 0x7f || c == '\t' }

// skipText returns the index of the first byte of b from i on that may not
// stand in a field value, or len(b).
func skipText(b []byte, i int) int {
	for i+8 <= len(b) {
		m := notText(word(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += first(m)
		if !isText(b[i]) {
			return i
		}
		i++
	}
	for i < len(b) && isText(b[i]) {
		i++
	}
	return i
}

// isTargetByte tells the bytes that a request-target may consist of. Beyond
// the grammar (RFC 3986) these are 0x80 to 0xff and the printable characters
// that some clients forget to escape. The fragment's "#" is not among them: a
// target has none, and recipients that keep it and such that cut it off there
// see different resources.
func isTargetByte(c byte) bool { return c > ' ' && c != 0x7f && c != '#' }

// notTarget marks the bytes of w that isTargetByte doesn't tell, and some that it
// does, so look at the one that it points to.
func notTarget(w uint64) uint64 { return below(w, '#'+1) | notText(w) }

// skipTarget returns the index of the first byte of b from i on that may not
// stand in a request-target, or len(b).
func skipTarget(b []byte, i int) int {
	for i+8 <= len(b) {
		m := notTarget(word(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += first(m)
		if !isTargetByte(b[i]) {
			return i
		}
		i++
	}
	for i < len(b) && isTargetByte(b[i]) {
		i++
	}
	return i
}

// plain reports whether w has only letters, digits and hyphens, the bytes
// that nearly all names consist of. Bytes below 0x80 can be compared by adding
// what lifts the bound to 0x80; it is all false if there are others.
func plain(w uint64) bool {
	y := w | ' '*ones
	letter := (y + (0x80-'a')*ones) &^ (y + (0x80-'z'-1)*ones)
	digit := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones)
	hyphen := ^((w ^ '-'*ones) + 0x7f*ones)
	return (letter|digit|hyphen)&^w&highs == highs
}

// plainHost is plain for words of a host: dots pass too, as hyphens. A slash that
// equal marks by mistake becomes a comma, which doesn't pass either.
func plainHost(w uint64) bool { return plain(w ^ equal(w, '.')>>7*('.'^'-')) }

// isName reports whether b is a token, like bytesconv.IsToken, and faster if
// it is an ordinary field name.
func isName(b []byte) bool {
	if len(b) < 8 {
		return bytesconv.IsToken(b)
	}
	for i := 0; i <= len(b)-8; i += 8 {
		if !plain(word(b[i : i+8 : i+8])) {
			return bytesconv.IsToken(b)
		}
	}
	return plain(word(b[len(b)-8:])) || bytesconv.IsToken(b)
}
