package bytesconv

const upperHex = "0123456789ABCDEF"

// AppendEscaped appends src to dst; bytes for which safe is false become %XX
// with upper-case digits (RFC 3986 section 2.1).
func AppendEscaped(dst, src []byte, safe *[256]bool) []byte {
	start := 0
	for i, c := range src {
		if safe[c] {
			continue
		}
		dst = append(dst, src[start:i]...)
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		start = i + 1
	}
	return append(dst, src[start:]...)
}

// AppendEscapedArg appends src as the key or value of a query argument: a
// space becomes "+", bytes outside of ArgSafe become %XX.
func AppendEscapedArg(dst, src []byte) []byte {
	i := 0
	for i < len(src) && ArgSafe[src[i]] {
		i++
	}
	dst = append(dst, src[:i]...)
	// The runs between escapes are short, so copying whole runs would cost more
	// calls.
	for _, c := range src[i:] {
		switch {
		case ArgSafe[c]:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// Unescape decodes percent-escapes in b, in place, and returns the length of the
// result. A "%" that isn't followed by two hex digits stays as it is. Nothing is
// decoded twice: "%2541" becomes "%41".
func Unescape(b []byte) int {
	w := 0
	for r := 0; r < len(b); r++ {
		c := b[r]
		if c == '%' && r+2 < len(b) {
			if v, ok := hexPair(b[r+1], b[r+2]); ok {
				c = v
				r += 2
			}
		}
		b[w] = c
		w++
	}
	return w
}

// UnescapeArg is Unescape for query arguments, where "+" is a space.
func UnescapeArg(b []byte) int {
	w := 0
	for r := 0; r < len(b); r++ {
		c := b[r]
		if c == '+' {
			c = ' '
		} else if c == '%' && r+2 < len(b) {
			if v, ok := hexPair(b[r+1], b[r+2]); ok {
				c = v
				r += 2
			}
		}
		b[w] = c
		w++
	}
	return w
}

func hexPair(hi, lo byte) (v byte, ok bool) {
	h, l := HexValue[hi], HexValue[lo]
	return h<<4 | l, h|l < 16
}
