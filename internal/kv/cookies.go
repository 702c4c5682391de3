package kv

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// AddCookies adds the cookies of one Cookie field's value:
//
//	cookie-string = cookie-pair *( ";" SP cookie-pair )     RFC 6265 section 4.2.1
//
// It is as lenient as browsers: spaces and tabs around names, values and semicolons
// are dropped, the space after ";" may be missing, and a cookie without "=" is a
// value with an empty name. Values may have spaces, commas and bytes above 0x7f,
// which the grammar doesn't allow but browsers send.
//
// A value keeps the bytes that it came with, double quotes and backslashes too: they have
// no meaning (RFC 6265 sections 5.2 and 5.4), and a value always ends at ";". Empty cookies
// and those with CR, LF or NUL are left out.
//
// AddCookies stops when the list has limit pairs and then returns false if
// more would have followed. The time it takes is linear in len(src).
func (l *List) AddCookies(src []byte, limit int) bool {
	if len(src) == 0 {
		return true
	}
	if len(src) > maxArena-len(l.arena) {
		return false
	}
	i := len(l.arena)
	l.reserve(len(src))
	l.arena = append(l.arena, src...)
	b := l.arena
	for i < len(b) {
		end, next := len(b), len(b)
		if n := bytes.IndexByte(b[i:], ';'); n >= 0 {
			end = i + n
			next = end + 1
		}
		i, end = bytesconv.TrimRange(b, i, end)
		keyEnd, val := i, i
		if n := bytes.IndexByte(b[i:end], '='); n >= 0 {
			_, keyEnd = bytesconv.TrimRange(b, i, i+n)
			val, end = bytesconv.TrimRange(b, i+n+1, end)
		}
		key := i
		i = next
		if key == keyEnd && val == end {
			continue
		}
		if bytesconv.BreaksLine(b[key:keyEnd]) || bytesconv.BreaksLine(b[val:end]) {
			continue
		}
		if len(l.pairs) >= limit {
			return false
		}
		l.pairs = append(l.pairs, pair{
			tag: tagOf(bytesconv.B2S(b[key:keyEnd])),
			key: uint32(key), keyEnd: uint32(keyEnd),
			val: uint32(val), valEnd: uint32(end),
		})
	}
	return true
}

// AppendCookies appends the list as the value of a Cookie field: "key=value" joined
// by "; ", or only the value if the key is empty (with "=" before it if the value
// could be read as a key and a value). Bytes that would end the cookie or the field
// (";", CR, LF, NUL) become spaces.
func (l *List) AppendCookies(dst []byte) []byte {
	for i := range l.pairs {
		p := &l.pairs[i]
		if i > 0 {
			dst = append(dst, ';', ' ')
		}
		n := len(dst)
		value := l.valueOf(p)
		if p.keyEnd > p.key || bytes.IndexByte(value, '=') >= 0 {
			dst = append(dst, l.keyOf(p)...)
			dst = append(dst, '=')
		}
		dst = append(dst, value...)
		NeutralizeCookie(dst[n:])
	}
	return dst
}

// NeutralizeCookie replaces ";", CR, LF and NUL in b by spaces.
func NeutralizeCookie(b []byte) {
	for i, c := range b {
		if c == ';' {
			b[i] = ' '
		}
	}
	bytesconv.NeutralizeLine(b)
}
