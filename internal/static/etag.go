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
// tags. weak should be true while a further change could leave time and size
// as they are (see Settled).
func AppendETag(dst []byte, modTime time.Time, size int64, coding string, weak bool) []byte {
	if weak {
		dst = append(dst, "W/"...)
	}
	dst = append(dst, '"')
	dst = bytesconv.AppendHex(dst, uint64(modTime.UnixNano()))
	dst = append(dst, '-')
	dst = bytesconv.AppendHex(dst, uint64(size))
	if coding != "" {
		dst = append(append(dst, '-'), coding...)
	}
	return append(dst, '"')
}

// Settled tells if a file last changed at modTime can't change once more
// without a later time stamp. File systems stamp with the kernel's tick or
// coarser; two seconds is the coarsest still in use.
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

// cutTag splits the first entity tag off a list of them. ok is false at the
// end of the list and where it breaks the grammar. Tags may hold commas, so
// the list can't be split at them.
func cutTag(list []byte) (tag, rest []byte, ok bool) {
	for len(list) > 0 && (list[0] == ' ' || list[0] == '\t' || list[0] == ',') {
		list = list[1:]
	}
	start := 0
	if len(list) >= 2 && list[0] == 'W' && list[1] == '/' {
		start = 2
	}
	if len(list) < start+2 || list[start] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(list[start+1:], '"')
	if end < 0 {
		return nil, nil, false
	}
	end += start + 2
	tag, rest = list[:end], list[end:]
	if t := trimOWS(rest); len(t) > 0 && t[0] != ',' {
		return nil, nil, false
	}
	return tag, rest, true
}

// matchAny tells if one of the tags in list equals tag.
func matchAny(list, tag []byte, equal func(a, b []byte) bool) bool {
	for {
		t, rest, ok := cutTag(list)
		if !ok {
			return false
		}
		if equal(t, tag) {
			return true
		}
		list = rest
	}
}
