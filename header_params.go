package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// VisitHeaderParams calls f for the parameters of a field value such as
// `text/html; charset=utf-8`, in order, until f returns false:
//
//	parameters = *( OWS ";" OWS [ name "=" value ] )    RFC 9110 section 5.6.6
//	name       = token
//	value      = token / quoted-string
//
// Names keep their case. For a quoted value f gets the text between the quotes,
// including backslashes. The first malformed parameter, such as "a", "a=" or
// `a="b`, ends the visit without an error. The slices point into b.
func VisitHeaderParams(b []byte, f func(key, value []byte) bool) {
	for {
		n := 0
		if len(b) == 0 || b[0] != ';' {
			if n = bytes.IndexByte(b, ';'); n < 0 {
				return
			}
		}
		for b = b[n+1:]; len(b) > 0 && (b[0] == ' ' || b[0] == '\t'); {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == ';' {
			continue
		}
		n = tokenLen(b)
		if n == 0 || n >= len(b) || b[n] != '=' {
			return
		}
		key := b[:n]
		b = b[n+1:]
		var value []byte
		if len(b) > 0 && b[0] == '"' {
			n = quotedLen(b)
			if n == 0 {
				return
			}
			value = b[1 : n-1]
		} else {
			if n = tokenLen(b); n == 0 {
				return
			}
			value = b[:n]
		}
		b = b[n:]
		if !f(key, value) {
			return
		}
	}
}

// tokenLen returns the length of the token that b begins with, or 0 if there is
// none.
func tokenLen(b []byte) int {
	for i, c := range b {
		if !bytesconv.Token[c] {
			return i
		}
	}
	return len(b)
}

// quotedLen returns the length, quotes included, of the quoted-string of
// RFC 9110 section 5.6.4 that b begins with, or 0 if it isn't closed or has
// control characters.
func quotedLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		c := b[i]
		if quotedPlain[c] {
			continue
		}
		if c == '"' {
			return i + 1
		}
		if c != '\\' {
			return 0
		}
		if i++; i < len(b) && isControl(b[i]) {
			return 0
		}
	}
	return 0
}

// quotedPlain says which bytes mean themselves in a quoted-string.
var quotedPlain = func() (t [256]bool) {
	for i := range 256 {
		t[i] = !isControl(byte(i)) && i != '"' && i != '\\'
	}
	return
}()

// isControl reports whether c is a control character that no field value may have.
// A tab isn't one (RFC 9110 section 5.5).
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }
