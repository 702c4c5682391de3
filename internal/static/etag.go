package static

import (
	"bytes"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// AppendETag appends an entity tag made of the modification time (to the
// nanosecond), the size and the content coding of a representation:
//
//	entity-tag = [ "W/" ] DQUOTE *etagc DQUOTE
//
// (RFC 9110 section 8.8.3.) Representations in different codings get different
// tags. weak should be true as long as another change could leave time and size the
// same (see Settled).
func AppendETag(dst []byte, modTime time.Time, size int64, coding string, weak bool) []byte {
	return appendTag(dst, weak, coding, uint64(modTime.UnixNano()), uint64(size))
}

// appendTag appends a tag of numbers and a coding.
func appendTag(dst []byte, weak bool, coding string, numbers ...uint64) []byte {
	if weak {
		dst = append(dst, "W/"...)
	}
	dst = append(dst, '"')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = bytesconv.AppendHex(dst, n)
	}
	if coding != "" {
		dst = append(append(dst, '-'), coding...)
	}
	return append(dst, '"')
}

// AppendWeakETag appends a weak entity tag made of the modification time in
// seconds, the size and the content coding: two versions may have the same second
// (RFC 9110 section 8.8.1). For files that aren't encoded it is the tag that
// fasthttp sends.
func AppendWeakETag(dst []byte, modTime time.Time, size int64, coding string) []byte {
	return appendTag(dst, true, coding, uint64(modTime.Unix()), uint64(size))
}

// Settled reports whether another change of a file that was last changed at modTime
// would get a later time stamp. Time stamps have the precision of the kernel's tick
// or less; two seconds is the lowest precision that is still in use.
func Settled(modTime, now time.Time) bool {
	return now.Sub(modTime) > 2*time.Second
}

// opaque returns the quoted part of a tag and whether it was marked as weak.
func opaque(tag []byte) (quoted []byte, weak bool) {
	if len(tag) >= 2 && tag[0] == 'W' && tag[1] == '/' {
		return tag[2:], true
	}
	return tag, false
}

// equalStrong is the strong comparison of RFC 9110 section 8.8.3.2.
func equalStrong(a, b []byte) bool {
	return len(a) > 0 && a[0] == '"' && bytes.Equal(a, b)
}

// equalWeak is the weak comparison of RFC 9110 section 8.8.3.2.
func equalWeak(a, b []byte) bool {
	a, _ = opaque(a)
	b, _ = opaque(b)
	return len(a) > 0 && bytes.Equal(a, b)
}

// cutTag splits off the entity tag that b begins with; tag and rest are slices of b,
// which the caller owns. etagc is any byte except controls, space and DQUOTE (RFC 9110
// section 8.8.3).
func cutTag(b []byte) (tag, rest []byte, ok bool) {
	i := 0
	if len(b) >= 2 && b[0] == 'W' && b[1] == '/' {
		i = 2
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[:i+1], b[i+1:], true
		case c <= ' ' || c == 0x7f:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// tagList is the state of parsing the lines of an If-Match or If-None-Match field:
//
//	If-Match = "*" / #entity-tag
//
// (RFC 9110 sections 13.1.1 and 13.1.2.)
type tagList struct {
	tags, stars int
	matched     bool
}

// read reads one line and looks for tag. ok is false if the line breaks the
// grammar. Tags may hold commas, so the line can't be split at them.
func (l *tagList) read(line, tag []byte, equal func(a, b []byte) bool) (ok bool) {
	for {
		for len(line) > 0 && (line[0] == ' ' || line[0] == '\t' || line[0] == ',') {
			line = line[1:]
		}
		if len(line) == 0 {
			return true
		}
		if line[0] == '*' {
			l.stars++
			line = line[1:]
		} else {
			var t []byte
			if t, line, ok = cutTag(line); !ok {
				return false
			}
			l.tags++
			l.matched = l.matched || equal(t, tag)
		}
		if line = bytesconv.TrimOWS(line); len(line) > 0 && line[0] != ',' {
			return false
		}
	}
}

// listed reports whether the field with these lines is "*" or contains tag. A field
// that breaks the grammar anywhere counts as empty.
func listed(lines [][]byte, tag []byte, equal func(a, b []byte) bool) bool {
	var l tagList
	for _, line := range lines {
		if !l.read(line, tag, equal) {
			return false
		}
	}
	if l.stars > 0 {
		return l.stars == 1 && l.tags == 0
	}
	return l.matched
}
