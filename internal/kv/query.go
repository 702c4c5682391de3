package kv

import (
	"github.com/galehttp/gale/internal/bytesconv"
)

// queryMark says which bytes have a meaning in a query string.
var queryMark = [256]bool{'&': true, '=': true, '+': true, '%': true}

// AddQuery adds the arguments of a query string or of a body in the form
// application/x-www-form-urlencoded:
//
//	query = [ pair ] *( "&" [ pair ] )
//	pair  = key [ "=" value ]
//
// "+" and %XX are decoded once; a "%" without two hex digits stays. ";" is not a
// separator. Pairs that are empty or just a "=" are dropped.
//
// AddQuery stops when the list has limit pairs and then returns false if more
// would have followed. The time it takes is linear in len(src).
func (l *List) AddQuery(src []byte, limit int) bool {
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
		key, keyEnd, end := i, -1, 0
		keyEscaped, valEscaped := false, false
		// Key: up to "=" or "&".
		for ; i < len(b); i++ {
			c := b[i]
			if !queryMark[c] {
				continue
			}
			if c == '=' {
				keyEnd = i
				i++
				break
			}
			if c == '&' {
				break
			}
			keyEscaped = true
		}
		val := i
		if keyEnd >= 0 {
			// Value: up to "&".
			for ; i < len(b); i++ {
				c := b[i]
				if !queryMark[c] || c == '=' {
					continue
				}
				if c == '&' {
					break
				}
				valEscaped = true
			}
		}
		end = i
		i++
		bare := keyEnd < 0
		if bare {
			keyEnd = end
		}
		if keyEnd == key && end == val {
			continue
		}
		if len(l.pairs) >= limit {
			return false
		}
		keyLen, valLen := keyEnd-key, end-val
		if keyEscaped {
			keyLen = bytesconv.UnescapeArg(b[key:keyEnd])
		}
		if valEscaped {
			valLen = bytesconv.UnescapeArg(b[val:end])
		}
		p := l.extend()
		p.tag = tagOf(bytesconv.B2S(b[key : key+keyLen]))
		p.key, p.keyEnd = uint32(key), uint32(key+keyLen)
		p.val, p.valEnd, p.bare = uint32(val), uint32(val+valLen), bare
	}
	return true
}

// AppendQuery appends the list as a query string: "key=value" and, for pairs
// without a value, "key", joined by "&". Spaces become "+"; all other bytes except
// the unreserved ones of RFC 3986 become %XX.
func (l *List) AppendQuery(dst []byte) []byte {
	if len(l.pairs) == 0 {
		l.Use()
	}
	for i := range l.pairs {
		p := &l.pairs[i]
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = bytesconv.AppendEscapedArg(dst, l.keyOf(p))
		if !p.bare {
			dst = append(dst, '=')
			dst = bytesconv.AppendEscapedArg(dst, l.valueOf(p))
		}
	}
	return dst
}
