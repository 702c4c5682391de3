package bytesconv

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// isHidden reports whether r does something to a terminal or to the text around it instead of being
// shown: control characters (C0, DEL, C1), format characters, such as those that change the direction
// of text, and separators of lines and paragraphs.
func isHidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// AppendVisible appends s for a terminal or a log. Hidden characters become \uXXXX, as in JSON, and
// bytes that aren't UTF-8 become \ufffd. A backslash stays one: the result tells people what is there,
// and a JSON text with hidden characters in its strings keeps its meaning.
func AppendVisible(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = appendUnit(dst, utf8.RuneError)
		case !isHidden(r):
			dst = append(dst, s[i:i+n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendUnit(dst, r)
		}
		i += n
	}
	return dst
}

// Visible is AppendVisible for a string.
func Visible(s string) string {
	if IsASCIIText(s) {
		return s
	}
	return string(AppendVisible(nil, s))
}

// IsASCIIText reports whether all bytes of s are visible characters of ASCII or spaces.
func IsASCIIText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

func appendUnit(dst []byte, u rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}
