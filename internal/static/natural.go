package static

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CompareNames compares two names in the order in which people expect them: digits by their
// value, so that "file-2" is before "file-10", and letters without regard to case. Names
// that differ only in case or in leading zeros are ordered by their bytes. It returns -1, 0
// or 1, and 0 only for equal names.
func CompareNames(a, b string) int {
	if c := compareNatural(a, b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// compareNatural compares a and b as sequences of numbers and of other characters. A number
// and another character are compared by the first digit, which gives the same order for all
// numbers, because no other character is between two digits.
func compareNatural(a, b string) int {
	n := equalPrefix(a, b)
	a, b = a[n:], b[n:]
	for len(a) > 0 && len(b) > 0 {
		c, d := a[0], b[0]
		if isDigit(c) && isDigit(d) {
			var x, y string
			x, a = cutNumber(a)
			y, b = cutNumber(b)
			if len(x) != len(y) {
				return cmp.Compare(len(x), len(y))
			}
			if order := strings.Compare(x, y); order != 0 {
				return order
			}
			continue
		}
		if c < utf8.RuneSelf && d < utf8.RuneSelf {
			if c, d = lowerASCII(c), lowerASCII(d); c != d {
				return cmp.Compare(c, d)
			}
			a, b = a[1:], b[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r, s = unicode.ToLower(r), unicode.ToLower(s); r != s {
			return cmp.Compare(r, s)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// equalPrefix returns the length of a prefix that a and b have in common, and that ends
// neither in a number nor within a character.
func equalPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (isDigit(a[n-1]) || a[n-1] >= utf8.RuneSelf) {
		n--
	}
	return n
}

// cutNumber splits s after the digits that it begins with. Leading zeros are removed from
// the number.
func cutNumber(s string) (number, rest string) {
	zeros := 0
	for zeros < len(s) && s[zeros] == '0' {
		zeros++
	}
	end := zeros
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return s[zeros:end], s[end:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
