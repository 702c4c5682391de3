package h1

import (
	"encoding/binary"
	"math/bits"

	"github.com/galehttp/gale/internal/bytesconv"
)

// These functions look at words of eight bytes. The high bit of each byte of a result
// says whether a condition is true for that byte. The lowest such bit is the first byte
// in memory (words are loaded little-endian).
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// below marks the bytes of w that are less than n (n <= 0x80). Bytes above the lowest
// mark may be marked by mistake.
func below(w, n uint64) uint64 { return (w - n*ones) &^ w & highs }

// equal marks the bytes of w that are c. Bytes above the lowest mark may be marked by
// mistake.
func equal(w, c uint64) uint64 {
	w ^= c * ones
	return (w - ones) &^ w & highs
}

// notText marks the bytes of w that are control characters (below SP, or DEL). It may
// mark other bytes by mistake, so the caller must check the marked byte.
func notText(w uint64) uint64 { return ((w - ' '*ones) | (w + ones)) &^ w & highs }

// first returns the index of the first marked byte.
func first(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// isText reports whether c may be in a field value: HTAB, and everything except control
// characters (RFC 9110 section 5.5).
func isText(c byte) bool { return c >= ' ' && c != 0x7f || c == '\t' }

// skipText returns the index of the first byte of b from i on that must not be in a field
// value, or len(b).
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

// isTargetByte reports whether c may be in a request-target. In addition to the grammar
// (RFC 3986) it accepts 0x80 to 0xff and printable characters that some clients forget to
// escape. It doesn't accept the "#" of a fragment: a target has no fragment, and
// recipients that keep it see another resource than recipients that cut it off.
func isTargetByte(c byte) bool { return c > ' ' && c != 0x7f && c != '#' }

// notTarget marks the bytes of w that isTargetByte doesn't accept. It may mark other
// bytes by mistake, so the caller must check the marked byte.
func notTarget(w uint64) uint64 { return below(w, '#'+1) | notText(w) }

// skipTarget returns the index of the first byte of b from i on that must not be in a
// request-target, or len(b).
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

// plain reports whether w has only letters, digits and hyphens, as nearly all names have.
// It compares bytes below 0x80 by adding a number that moves the bound to 0x80; if there
// are other bytes, it returns false.
func plain(w uint64) bool {
	y := w | ' '*ones
	letter := (y + (0x80-'a')*ones) &^ (y + (0x80-'z'-1)*ones)
	digit := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones)
	hyphen := ^((w ^ '-'*ones) + 0x7f*ones)
	return (letter|digit|hyphen)&^w&highs == highs
}

// plainHost is plain for words of a host: it also accepts dots, which it turns into
// hyphens. A slash that equal marks by mistake becomes a comma, which isn't accepted
// either.
func plainHost(w uint64) bool { return plain(w ^ equal(w, '.')>>7*('.'^'-')) }

// isName reports whether b is a token. It is like bytesconv.IsToken, but faster for
// ordinary field names.
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
