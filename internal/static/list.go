package static

import "bytes"

// cutElement splits off the first element of a comma-separated list, without
// the white space around it. more tells if a comma followed. Elements may be
// empty, which the reader of a list must bear (RFC 9110 section 5.6.1.2).
func cutElement(list []byte) (element, rest []byte, more bool) {
	i := bytes.IndexByte(list, ',')
	if i < 0 {
		return trimOWS(list), nil, false
	}
	return trimOWS(list[:i]), list[i+1:], true
}

// trimOWS removes spaces and tabs from both ends of b.
func trimOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
