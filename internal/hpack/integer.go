package hpack

// Integers (RFC 7541 section 5.1): n bits of the first byte and, if these are all
// ones, further bytes with seven bits each, the lowest bits first.

// maxIntegerBytes is how many further bytes an integer may have. 28 bits are enough
// for all lengths, indexes and sizes in use, and can't overflow. Encodings with
// more bytes are errors, even if their value is small.
const maxIntegerBytes = 4

// parseInteger returns the integer whose first byte is b[0], with mask for its prefix, and
// the number of its bytes.
func parseInteger(b []byte, mask byte) (v uint32, n int, err error) {
	v = uint32(b[0] & mask)
	if v < uint32(mask) {
		return v, 1, nil
	}
	return parseLongInteger(b, v)
}

func parseLongInteger(b []byte, v uint32) (uint32, int, error) {
	for i := 1; i <= maxIntegerBytes; i++ {
		if i == len(b) {
			return 0, 0, ErrTruncated
		}
		v += uint32(b[i]&0x7f) << (7 * (i - 1))
		if b[i] < 0x80 {
			return v, i + 1, nil
		}
	}
	return 0, 0, ErrInteger
}

// appendInteger appends v. first holds the bits before the prefix, mask those of the prefix.
func appendInteger(dst []byte, first, mask byte, v uint32) []byte {
	if v < uint32(mask) {
		return append(dst, first|byte(v))
	}
	dst = append(dst, first|mask)
	v -= uint32(mask)
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}
