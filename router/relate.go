package router

import (
	"strings"

	"github.com/galehttp/gale/internal/pathrule"
)

// relation is how what a pattern matches relates to what another one matches.
type relation uint8

const (
	disjoint relation = iota // nothing is matched by both
	equal
	narrower // the other one matches all that this one does, and more
	wider
	overlapping // both match something, and each also something else
)

// and returns the relation of two conditions that must hold both.
func (a relation) and(b relation) relation {
	switch {
	case a == disjoint || b == disjoint:
		return disjoint
	case a == equal:
		return b
	case b == equal || a == b:
		return a
	}
	return overlapping
}

func compareMethods(a, b string) relation {
	switch {
	case a == b:
		return equal
	case b == "" || a == "HEAD" && b == "GET":
		return narrower
	case a == "" || a == "GET" && b == "HEAD":
		return wider
	}
	return disjoint
}

// compareHosts compares two hosts; nil is any host.
func compareHosts(a, b []segment) relation {
	switch {
	case a == nil && b == nil:
		return equal
	case a == nil:
		return wider
	case b == nil:
		return narrower
	case len(a) != len(b):
		return disjoint
	}
	all := equal
	for i := len(a) - 1; i >= 0 && all != disjoint; i-- {
		all = all.and(compareSegments(&a[i], &b[i]))
	}
	return all
}

// comparePaths compares two paths.
func comparePaths(a, b []segment) relation {
	endA, endB := &a[len(a)-1], &b[len(b)-1]
	switch { // without a look at what may be many segments
	case endA.kind == rest && endB.kind == rest:
	case endA.kind == rest && len(b) >= len(a), endB.kind == rest && len(a) >= len(b):
	case len(a) != len(b), endA.kind == literal && endB.kind == literal && endA.text != endB.text:
		return disjoint
	}
	all := equal
	for i := 0; all != disjoint; i++ {
		if i == len(a) || i == len(b) {
			if len(a) != len(b) {
				return disjoint
			}
			return all
		}
		restA, restB := a[i].kind == rest, b[i].kind == rest
		switch {
		case restA && restB:
			return all
		case restA:
			return all.and(wider)
		case restB:
			return all.and(narrower)
		}
		all = all.and(compareSegments(&a[i], &b[i]))
	}
	return all
}

// compareSegments compares two segments that are no rest.
func compareSegments(a, b *segment) relation {
	switch {
	case a.kind == literal && b.kind == literal:
		if a.text == b.text {
			return equal
		}
		return disjoint
	case a.kind == literal:
		if b.captures(a.text) {
			return narrower
		}
		return disjoint
	case b.kind == literal:
		if a.captures(b.text) {
			return wider
		}
		return disjoint
	}
	if a.text == b.text && a.suffix == b.suffix {
		return equal
	}
	before := compareEnds(a.text == b.text, strings.HasPrefix(a.text, b.text), strings.HasPrefix(b.text, a.text))
	x, y := a.suffix, b.suffix
	return before.and(compareEnds(x == y, strings.HasSuffix(x, y), strings.HasSuffix(y, x)))
}

// compareEnds returns how two prefixes, or two suffixes, of captures relate.
func compareEnds(same, longer, shorter bool) relation {
	switch {
	case same:
		return equal
	case longer:
		return narrower
	case shorter:
		return wider
	}
	return disjoint
}

// captures reports whether s, a capture, matches text.
func (s *segment) captures(text string) bool {
	return len(text) > len(s.text)+len(s.suffix) && strings.HasPrefix(text, s.text) && strings.HasSuffix(text, s.suffix)
}

// compare compares two patterns: narrower and wider say which of them gets the requests that both
// match. A narrower host decides before method and path.
func compare(a, b *pattern) relation {
	where := equal
	if a.hostText != b.hostText {
		where = compareHosts(a.host, b.host)
	}
	what := compareMethods(a.method, b.method).and(comparePaths(a.path, b.path))
	switch {
	case where == disjoint || what == disjoint:
		return disjoint
	case where == equal:
		return what
	}
	return where
}

// common returns a host and a path that a and b both match, as a client writes them.
func common(a, b *pattern) string {
	var out []byte
	hosts := a.host
	if hosts == nil {
		hosts = b.host
	}
	for i := range hosts {
		if i > 0 {
			out = append(out, '.')
		}
		s := &hosts[i]
		if s.kind != literal && a.host != nil && b.host != nil {
			s = &b.host[i]
		}
		if s.kind == literal {
			out = append(out, s.text...)
		} else {
			out = append(out, 'x')
		}
	}
	for i := range max(len(a.path), len(b.path)) {
		out = append(out, '/')
		out = appendCommon(out, at(a.path, i), at(b.path, i))
	}
	return string(out)
}

// at returns a segment of path. After its end it is the last one, which is a rest.
func at(path []segment, i int) *segment { return &path[min(i, len(path)-1)] }

func appendCommon(out []byte, a, b *segment) []byte {
	if a.kind == rest {
		a, b = b, a
	}
	switch {
	case a.kind == rest:
		return out
	case a.kind == literal:
		return pathrule.AppendReference(out, appendCanonical(nil, a.text))
	case b.kind == rest:
		b = a
	case b.kind == literal:
		return pathrule.AppendReference(out, appendCanonical(nil, b.text))
	}
	prefix, suffix := a.text, a.suffix
	if len(b.text) > len(prefix) {
		prefix = b.text
	}
	if len(b.suffix) > len(suffix) {
		suffix = b.suffix
	}
	return pathrule.AppendReference(out, appendCanonical(nil, prefix+"x"+suffix))
}

func literals(host []segment) (n int) {
	for _, s := range host {
		if s.kind == literal {
			n++
		}
	}
	return n
}
