package wsframe

import "encoding/binary"

// ParseClose reads the payload of a close frame (RFC 6455 section 5.5.1). reason is a
// slice of payload. An empty payload gives [CodeNoStatus]. A payload of one byte, a code
// that must not be sent and a reason that isn't UTF-8 are errors.
func ParseClose(payload []byte) (code uint16, reason []byte, err error) {
	switch len(payload) {
	case 0:
		return CodeNoStatus, nil, nil
	case 1:
		return 0, nil, errCloseSize
	}
	code = binary.BigEndian.Uint16(payload)
	if !ValidSent(code) {
		return 0, nil, errCloseCode
	}
	reason = payload[2:]
	if checkMasked(reason, 0, between) != between {
		return 0, nil, errCloseReason
	}
	return code, reason, nil
}

// AppendClose appends the payload of a close frame to dst and returns the extended dst.
// If the code is 0 or [CodeNoStatus], the payload is empty. The reason is cut at a
// character's boundary to at most 123 bytes, and before the first byte that isn't UTF-8.
func AppendClose(dst []byte, code uint16, reason string) []byte {
	if code == 0 || code == CodeNoStatus {
		return dst
	}
	dst = binary.BigEndian.AppendUint16(dst, code)
	return append(dst, reason[:validPrefix(reason, MaxControl-2)]...)
}

// validPrefix returns the length of the longest prefix of s that is UTF-8 and not longer
// than limit.
func validPrefix(s string, limit int) (n int) {
	state := uint64(between)
	for i := 0; i < len(s) && i < limit; i++ {
		switch state = steps[s[i]] >> (state & 63) & stateBits; state {
		case between:
			n = i + 1
		case rejected:
			return n
		}
	}
	return n
}

// ValidSent reports whether a close frame may have this code: one that RFC 6455 section
// 7.4.1 or the registry of IANA (1012 to 1014) defines for sending, or 3000 to 4999.
func ValidSent(code uint16) bool {
	switch {
	case code < 1000, code >= 5000:
		return false
	case code < 3000:
		return code <= 1003 || code >= 1007 && code <= 1014
	}
	return true
}
