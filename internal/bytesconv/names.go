package bytesconv

// IsToken reports whether b is a token of RFC 9110 section 5.6.2: one tchar
// or more.
func IsToken(b []byte) bool {
	for _, c := range b {
		if !Token[c] {
			return false
		}
	}
	return len(b) > 0
}

// AppendCanonicalName appends the field name in its customary spelling: the
// first letter and every letter after a hyphen in upper case, all others in
// lower case, so that "foo-BAR" becomes "Foo-Bar".
//
// A name that isn't a token keeps its spelling. Only CR, LF and NUL in it become
// spaces, so that it can't end the line that it is written to.
func AppendCanonicalName(dst, name []byte) []byte {
	n := len(dst)
	dst = append(dst, name...)
	CanonicalizeName(dst[n:])
	return dst
}

// CanonicalizeName is AppendCanonicalName in place.
func CanonicalizeName(name []byte) {
	if !IsToken(name) {
		NeutralizeLine(name)
		return
	}
	up := true
	for i, c := range name {
		if up {
			name[i] = Upper[c]
		} else {
			name[i] = Lower[c]
		}
		up = c == '-'
	}
}

// NeutralizeLine replaces CR, LF and NUL in b by spaces: bytes that would end
// a field line or be read differently by different recipients
// (RFC 9110 section 5.5).
func NeutralizeLine(b []byte) {
	if IsText(b) {
		return
	}
	for i, c := range b {
		if c <= '\r' && (c == '\r' || c == '\n' || c == 0) {
			b[i] = ' '
		}
	}
}

// BreaksLine reports whether b has a byte that NeutralizeLine would replace.
func BreaksLine(b []byte) bool {
	for _, c := range b {
		if c <= '\r' && (c == '\r' || c == '\n' || c == 0) {
			return true
		}
	}
	return false
}
