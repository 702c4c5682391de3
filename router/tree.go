package router

import (
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/door"
)

// tree has the routes of one method. It is a radix tree over the bytes of canonical paths: see canonical.
// A path goes down along static bytes first, then into captures with longer suffixes, then into the
// plain capture, and ends in a rest if all else fails. Since no two patterns conflict, what it finds
// first is the narrowest route.
type tree struct {
	nodes    []node // the first one is the root
	fixed    *fixed // or nil
	suffixed [][]suffixed
}

// node is a place in the tree: after the bytes of its run.
type node struct {
	run    string      // static bytes that lead here
	labels string      // the first bytes of the runs of the static children
	jump   *[256]uint8 // for a node with many: 1 + the index in labels, else nil
	kids   uint32      // nodes[kids:] are these children
	plain  uint32      // the node after a capture of the rest of a segment, 0 for none
	ends   uint32      // suffixed[ends-1] are the captures with a suffix, 0 for none
	fork   bool        // a path that goes to a static child may have to come back
	leaf   *Route      // of paths that end here, or nil
	rest   *Route      // of all others, or nil
}

// suffixed is a capture that a suffix follows.
type suffixed struct {
	suffix string
	node   uint32
}

// branch is a node while the tree is built.
type branch struct {
	run  string
	kids []*branch
	ends []*ending
	leaf *Route
	rest *Route
}

type ending struct {
	suffix string
	to     *branch
}

// add adds a route with the path of a pattern, unless there is a narrower one of the same path.
func (b *branch) add(path []segment, r *Route) {
	text := make([]byte, 0, 64)
	for i := range path {
		s := &path[i]
		text = append(text, '/')
		switch s.kind {
		case literal:
			text = appendCanonical(text, s.text)
		case capture:
			text = appendCanonical(text, s.text)
			b = b.static(string(text)).ending(string(appendCanonical(nil, s.suffix)))
			text = text[:0]
		case rest:
			b = b.static(string(text))
			if b.rest == nil {
				b.rest = r
			}
			return
		}
	}
	b = b.static(string(text))
	if b.leaf == nil {
		b.leaf = r
	}
}

// static returns the branch below b at text, and makes it if there is none.
func (b *branch) static(text string) *branch {
	for text != "" {
		i := slices.IndexFunc(b.kids, func(k *branch) bool { return k.run[0] == text[0] })
		if i < 0 {
			k := &branch{run: text}
			b.kids = append(b.kids, k)
			return k
		}
		k, n := b.kids[i], 1
		for n < len(text) && n < len(k.run) && text[n] == k.run[n] {
			n++
		}
		if n < len(k.run) {
			b.kids[i] = &branch{run: text[:n], kids: []*branch{k}}
			k.run = k.run[n:]
		}
		b, text = b.kids[i], text[n:]
	}
	return b
}

func (b *branch) ending(suffix string) *branch {
	for _, e := range b.ends {
		if e.suffix == suffix {
			return e.to
		}
	}
	e := &ending{suffix, &branch{}}
	b.ends = append(b.ends, e)
	return e.to
}

// count returns how many nodes b needs.
func (b *branch) count() int {
	n := 1
	for _, k := range b.kids {
		n += k.count()
	}
	for _, e := range b.ends {
		n += e.to.count()
	}
	return n
}

// grow makes the tree of b.
func (b *branch) grow() *tree {
	t := &tree{nodes: make([]node, 1, b.count())}
	t.fill(0, b)
	return t
}

// manyKids is from how many children on a node has a jump table.
const manyKids = 6

// fill sets t.nodes[i] to b, and adds what is below it.
func (t *tree) fill(i int, b *branch) {
	if len(b.kids) == 1 && b.run == "" && b.leaf == nil && b.rest == nil && b.ends == nil {
		b = b.kids[0]
	}
	n := node{run: b.run, leaf: b.leaf, rest: b.rest, fork: b.rest != nil || len(b.ends) > 0}
	var labels strings.Builder
	for _, k := range b.kids {
		labels.WriteByte(k.run[0])
	}
	n.labels, n.kids = labels.String(), uint32(len(t.nodes))
	if len(n.labels) >= manyKids {
		n.jump = new([256]uint8)
		for i := range n.labels {
			n.jump[n.labels[i]] = uint8(i + 1) // at most 255: no run begins with "#"
		}
	}
	t.nodes = t.nodes[:len(t.nodes)+len(b.kids)]
	var list []suffixed
	narrowerFirst := func(x, y *ending) int { return len(y.suffix) - len(x.suffix) }
	slices.SortStableFunc(b.ends, narrowerFirst)
	for _, e := range b.ends {
		at := uint32(len(t.nodes))
		t.nodes = t.nodes[:at+1]
		if t.fill(int(at), e.to); e.suffix == "" {
			n.plain = at
		} else {
			list = append(list, suffixed{e.suffix, at})
		}
	}
	if list != nil {
		t.suffixed = append(t.suffixed, list)
		n.ends = uint32(len(t.suffixed))
	}
	t.nodes[i] = n
	for k, kid := range b.kids {
		t.fill(int(n.kids)+k, kid)
	}
}

// found is what find has found.
type found struct {
	route *Route
	odd   bool // a value has bytes that decide only when they are decoded, or a dot segment
	open  bool // a rest has captured something
	n     int  // how many values there are
}

// fixedRoutes appends the routes below b that have no wildcards; path leads to b.
func (b *branch) fixedRoutes(list []fixedRoute, path string) []fixedRoute {
	path += b.run
	if b.leaf != nil {
		if where := b.leaf.match.Pattern[b.leaf.match.Host:]; where == path {
			path = where // which is in memory anyway
		}
		list = append(list, fixedRoute{path, b.leaf})
	}
	for _, k := range b.kids {
		list = k.fixedRoutes(list, path)
	}
	return list
}

// kid returns the static child of n whose run path has at the byte at, or nil.
func (t *tree) kid(n *node, path string, at int) *node {
	c, i := path[at], 0
	if n.jump != nil {
		if i = int(n.jump[c]) - 1; i < 0 {
			return nil
		}
	} else {
		for i < len(n.labels) && n.labels[i] != c {
			i++
		}
		if i == len(n.labels) {
			return nil
		}
	}
	k := &t.nodes[int(n.kids)+i]
	if len(k.run) > 1 && (len(path)-at < len(k.run) || path[at+1:at+len(k.run)] != k.run[1:]) {
		return nil
	}
	return k
}

// search looks for path in the tree. Values go to vals, which has room for all.
func (t *tree) search(path string, vals []door.Span, f *found) bool {
	if t.fixed != nil {
		if f.route = t.fixed.find(path); f.route != nil {
			return true
		}
	}
	root := &t.nodes[0]
	return follows(path, 0, root.run) && t.find(root, path, len(root.run), vals, f)
}

// follows reports whether path has run at the byte at. Runs are mostly short, and need no call then.
func follows(path string, at int, run string) bool {
	switch len(run) {
	case 0:
		return true
	case 1:
		return at < len(path) && path[at] == run[0]
	}
	return len(path)-at >= len(run) && path[at:at+len(run)] == run
}

// find looks for path, from the byte at on, in the tree below n, whose run is before that byte.
func (t *tree) find(n *node, path string, at int, vals []door.Span, f *found) bool {
	count := f.n
	for at < len(path) {
		if len(n.labels) != 0 {
			if next := t.kid(n, path, at); next != nil {
				if !n.fork {
					n = next
					at += len(n.run)
					continue
				}
				f.n = count
				if t.find(next, path, at+len(next.run), vals, f) {
					return true
				}
			}
		}
		if !n.fork {
			return false
		}
		if n.ends != 0 {
			f.n = count
			if t.findSuffixed(n, path, at, vals, f) {
				return true
			}
		}
		if n.plain != 0 {
			end, odd := segmentEnd(path, at)
			vals[count] = door.Span{From: uint32(at), End: uint32(end)}
			next := &t.nodes[n.plain]
			if fits := end > at && follows(path, end, next.run); fits && n.rest == nil {
				f.odd = f.odd || odd
				n, at, count = next, end+len(next.run), count+1
				continue
			} else if fits {
				was := f.odd
				f.n, f.odd = count+1, was || odd
				if t.find(next, path, end+len(next.run), vals, f) {
					return true
				}
				f.odd = was
			}
		}
		return n.rest != nil && f.end(n.rest, path, at, vals, count)
	}
	if n.leaf != nil {
		f.route, f.n = n.leaf, count
		return true
	}
	return n.rest != nil && f.end(n.rest, path, at, vals, count)
}

// findSuffixed is find for the captures of n with a suffix.
func (t *tree) findSuffixed(n *node, path string, at int, vals []door.Span, f *found) bool {
	count, was := f.n, f.odd
	end, odd := segmentEnd(path, at)
	for _, s := range t.suffixed[n.ends-1] {
		next := &t.nodes[s.node]
		if end-at <= len(s.suffix) || path[end-len(s.suffix):end] != s.suffix || !follows(path, end, next.run) {
			continue
		}
		vals[count] = door.Span{From: uint32(at), End: uint32(end - len(s.suffix))}
		f.n, f.odd = count+1, was || odd
		if t.find(next, path, end+len(next.run), vals, f) {
			return true
		}
	}
	f.odd = was
	return false
}

// end ends the search in a rest.
func (f *found) end(r *Route, path string, at int, vals []door.Span, count int) bool {
	vals[count] = door.Span{From: uint32(at), End: uint32(len(path))}
	f.route, f.n, f.open = r, count+1, at < len(path)
	f.odd = f.odd || isOdd(path[at:])
	return true
}

// stops says which bytes end a segment, or make it odd.
var stops = [256]bool{'/': true, '%': true, '\\': true, '#': true}

// segmentEnd returns where the segment ends that has the byte at, and whether it is odd.
func segmentEnd(path string, at int) (end int, odd bool) {
	odd = path[at] == '.'
	for end = at; end < len(path); end++ {
		if stops[path[end]] {
			if path[end] == '/' {
				return end, odd
			}
			odd = true
		}
	}
	return end, odd
}

// isOdd reports whether a rest must be looked at more closely.
func isOdd(s string) bool {
	last := byte('/')
	for i := range len(s) {
		c := s[i]
		switch c {
		case '%', '\\', '#':
			return true
		case '.', '/':
			if last == '/' {
				return true
			}
		}
		last = c
	}
	return false
}
