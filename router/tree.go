package router

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/galehttp/gale/internal/door"
)

// tree has the routes of one method. It is a radix tree over the bytes of canonical paths: see canonical.
// A path goes down along static bytes first, then into captures with longer suffixes, then into the
// plain capture, and ends in a rest if all else fails. Since no two patterns conflict, what it finds
// first is the narrowest route.
type tree struct {
	nodes  []node // the first one is the root
	extras []extra
	fixed  *fixed // or nil
}

// node is a place in the tree: after the bytes of its run, of which there are at most 8.
type node struct {
	word   uint64      // the run, as word returns it, and zeros
	mask   uint64      // of the run in word
	labels uint64      // the first bytes of the runs of the static children, if jump is nil
	leaf   *Route      // of paths that end here, or nil
	jump   *[256]uint8 // for a node with more than 8: 1 + the index of a child by that byte, else nil
	kids   uint32      // nodes[kids:] are these children
	plain  uint32      // the node after a capture of the rest of a segment, 0 for none
	extra  uint32      // extras[extra-1] is what few nodes have, 0 for none
	count  uint8       // of the static children, if jump is nil
	size   uint8       // of the run
}

// extra is what few nodes have.
type extra struct {
	ends []suffixed // captures with a suffix
	rest *Route     // of all other paths, or nil
}

// suffixed is a capture that a suffix follows.
type suffixed struct {
	suffix string
	node   uint32
}

// forks reports whether a path that goes to a static child of n may have to come back.
func (n *node) forks() bool { return n.plain|n.extra != 0 }

// extraOf returns the extra of n.
func (t *tree) extraOf(n *node) extra {
	if n.extra == 0 {
		return extra{}
	}
	return t.extras[n.extra-1]
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
			b.rest = first(b.rest, r)
			return
		}
	}
	b = b.static(string(text))
	b.leaf = first(b.leaf, r)
}

// first returns old, the route of a path, or r if there is none.
func first(old, r *Route) *Route {
	if old == nil {
		return r
	}
	if r.method == "" {
		old.same = r
	}
	return old
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

// split makes of each branch with a longer run several with at most 8 bytes.
func (b *branch) split() {
	if len(b.run) > 8 {
		below := *b
		below.run = b.run[8:]
		*b = branch{run: b.run[:8], kids: []*branch{&below}}
	}
	for _, k := range b.kids {
		k.split()
	}
	for _, e := range b.ends {
		e.to.split()
	}
}

// grow makes the tree of b.
func (b *branch) grow() *tree {
	b.split()
	t := &tree{nodes: make([]node, 1, b.count())}
	t.fill(0, b)
	return t
}

// fill sets t.nodes[i] to b, and adds what is below it.
func (t *tree) fill(i int, b *branch) {
	if len(b.kids) == 1 && b.run == "" && b.leaf == nil && b.rest == nil && b.ends == nil {
		b = b.kids[0]
	}
	n := node{leaf: b.leaf, kids: uint32(len(t.nodes)), size: uint8(len(b.run))}
	for at := range len(b.run) {
		n.word |= uint64(b.run[at]) << (8 * at)
		n.mask |= 0xff << (8 * at)
	}
	if len(b.kids) > 8 {
		n.jump = new([256]uint8)
		for i, k := range b.kids {
			n.jump[k.run[0]] = uint8(i + 1) // at most 255: no run begins with "#"
		}
	} else {
		n.count = uint8(len(b.kids))
		for i, k := range b.kids {
			n.labels |= uint64(k.run[0]) << (8 * i)
		}
	}
	t.nodes = t.nodes[:len(t.nodes)+len(b.kids)]
	x := extra{rest: b.rest}
	narrowerFirst := func(x, y *ending) int { return len(y.suffix) - len(x.suffix) }
	slices.SortStableFunc(b.ends, narrowerFirst)
	for _, e := range b.ends {
		at := uint32(len(t.nodes))
		t.nodes = t.nodes[:at+1]
		if t.fill(int(at), e.to); e.suffix == "" {
			n.plain = at
		} else {
			x.ends = append(x.ends, suffixed{e.suffix, at})
		}
	}
	if x.ends != nil || x.rest != nil {
		t.extras = append(t.extras, x)
		n.extra = uint32(len(t.extras))
	}
	t.nodes[i] = n
	for k, kid := range b.kids {
		t.fill(int(n.kids)+k, kid)
	}
}

// search is one search in trees, and what it has found.
type search struct {
	path   []byte
	tail   uint64      // of path, see word
	values []door.Span // with room for all

	route *Route
	n     int  // how many values there are
	odd   bool // a value has bytes that decide only when they are decoded, or a dot segment
	open  bool // a rest has captured something
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

// kid returns the static child of n whose run begins with c, nil if there is none.
func (t *tree) kid(n *node, c byte) *node {
	if n.jump != nil {
		if i := n.jump[c]; i != 0 {
			return &t.nodes[int(n.kids)+int(i)-1]
		}
		return nil
	}
	for i, labels := 0, n.labels; i < int(n.count); i++ { // the CPU guesses i, and need not wait
		if byte(labels) == c {
			return &t.nodes[int(n.kids)+i]
		}
		labels >>= 8
	}
	return nil
}

// word returns the 8 bytes of path at a byte that it has, the first one lowest. Those after the end of path
// are 0. tail is tailOf(path).
func word(path []byte, at int, tail uint64) uint64 {
	if len(path)-at >= 8 {
		return binary.LittleEndian.Uint64(path[at:])
	}
	return tail >> (uint(at-len(path)) * 8 & 63)
}

// tailOf returns the last 8 bytes of path, the last one highest. Those before its beginning are 0.
func tailOf(path []byte) uint64 {
	if len(path) >= 8 {
		return binary.LittleEndian.Uint64(path[len(path)-8:])
	}
	return shortTail(path)
}

//go:noinline so that tailOf is inlined
func shortTail(path []byte) uint64 {
	n := len(path)
	left := 64 - 8*uint(n)&63
	switch {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(path))<<left | uint64(binary.LittleEndian.Uint32(path[n-4:]))<<32
	case n >= 2:
		return uint64(binary.LittleEndian.Uint16(path))<<left | uint64(binary.LittleEndian.Uint16(path[n-2:]))<<48
	case n == 1:
		return uint64(path[0]) << 56
	}
	return 0
}

// follows reports whether a path has the run of n where w is its word. A run has no zeros, see canonical.
func (n *node) follows(w uint64) bool { return (w^n.word)&n.mask == 0 }

// search looks for f.path in the tree. f has found nothing yet.
func (t *tree) search(f *search) bool {
	f.tail = tailOf(f.path)
	root := &t.nodes[0]
	return root.follows(word(f.path, 0, f.tail)) && t.find(root, int(root.size), f)
}

// walk is search for a target as it was sent, and for most trees: it goes down while there is one way only,
// and leaves what follows to find. Values, for which m.Values has room, go to m, with the path. It returns
// nil if that isn't enough, such as for an odd path. It calls nothing in its loops, so that what they use
// stays in registers.
func (t *tree) walk(m *door.Route, target []byte) (r *Route, open bool) {
	n, tail, count, at := &t.nodes[0], tailOf(target), 0, 0
	if !n.follows(word(target, 0, tail)) {
		return nil, false
	}
	for at = int(n.size); at < len(target); {
		w := word(target, at, tail)
		if k := t.kid(n, byte(w)); k != nil && k.follows(w) {
			if n.forks() {
				return t.walkOn(m, n, target, at, count)
			}
			n = k
			at += int(n.size)
			continue
		}
		switch {
		case byte(w) == '?':
			target = target[:at]
			continue
		case n.extra != 0:
			return t.walkOn(m, n, target, at, count)
		case n.plain == 0 || byte(w) == '.' || byte(w) == '/':
			return nil, false
		}
		from := at
		for {
			stop, odd := zeros(w^each*'/')|zeros(w^each*'?'), odds(w)
			if odd != 0 && (stop == 0 || odd&(stop-1)&^stop != 0) {
				return nil, false
			}
			if stop != 0 {
				for ; byte(w) != '/' && byte(w) != '?'; w >>= 8 { // as in kid
					at++
				}
				break
			}
			if at += 8; at >= len(target) {
				at = len(target)
				break
			}
			w = word(target, at, tail)
		}
		m.Values[count] = door.Span{From: uint32(from), End: uint32(at)}
		count++
		n = &t.nodes[n.plain]
		switch {
		case at == len(target) || target[at] == '?':
			if target = target[:at]; n.size != 0 {
				return nil, false
			}
		case n.size > 1 && !n.follows(word(target, at, tail)):
			return nil, false
		default:
			at += int(n.size)
		}
	}
	switch {
	case n.leaf != nil:
		keepValues(m, target, count)
		return n.leaf, false
	case n.extra != 0:
		return t.walkOn(m, n, target, len(target), count)
	}
	return nil, false
}

// walkOn is walk below n, where there may be several ways.
func (t *tree) walkOn(m *door.Route, n *node, target []byte, at, count int) (r *Route, open bool) {
	path := pathOf(target)
	f := search{path: path, tail: tailOf(path), values: m.Values, n: count}
	if !t.find(n, at, &f) || f.odd {
		return nil, false
	}
	keepValues(m, path, f.n)
	return f.route, f.open
}

// keepValues keeps in m that path, as it was sent, has n values.
func keepValues(m *door.Route, path []byte, n int) {
	if n == 0 {
		return
	}
	at := m.Start()
	m.Text, m.Values = append(m.Text[:at], path...), m.Values[:n]
	if at > 0 {
		shift(m.Values, at)
	}
}

// goesOn reports whether the path, whose segment ends at the byte at, goes on with the run of n.
func (f *search) goesOn(n *node, at int) bool {
	return n.size == 0 || at < len(f.path) && n.follows(word(f.path, at, f.tail))
}

// find looks for the path, from the byte at on, in the tree below n, whose run is before that byte.
func (t *tree) find(n *node, at int, f *search) bool {
	count := f.n
	for at < len(f.path) {
		w := word(f.path, at, f.tail)
		if k := t.kid(n, byte(w)); k != nil && k.follows(w) {
			if !n.forks() {
				n = k
				at += int(n.size)
				continue
			}
			f.n = count
			if t.find(k, at+int(k.size), f) {
				return true
			}
		}
		x := t.extraOf(n)
		if x.ends != nil {
			f.n = count
			if t.findSuffixed(x.ends, at, f) {
				return true
			}
		}
		if n.plain != 0 {
			end, odd := f.segmentEnd(at, w)
			if next := &t.nodes[n.plain]; end > at && f.goesOn(next, end) {
				was := f.odd
				f.values[count] = door.Span{From: uint32(at), End: uint32(end)}
				f.n, f.odd = count+1, was || odd
				if t.find(next, end+int(next.size), f) {
					return true
				}
				f.odd = was
			}
		}
		return x.rest != nil && f.end(x.rest, at, count)
	}
	if n.leaf != nil {
		f.route, f.n = n.leaf, count
		return true
	}
	x := t.extraOf(n)
	return x.rest != nil && f.end(x.rest, at, count)
}

// findSuffixed is find for captures with a suffix.
func (t *tree) findSuffixed(ends []suffixed, at int, f *search) bool {
	count, was := f.n, f.odd
	end, odd := f.segmentEnd(at, word(f.path, at, f.tail))
	for _, s := range ends {
		next := &t.nodes[s.node]
		from := end - len(s.suffix)
		if from <= at || string(f.path[from:end]) != s.suffix || inEscape(f.path[at:from]) || !f.goesOn(next, end) {
			continue
		}
		f.values[count] = door.Span{From: uint32(at), End: uint32(from)}
		f.n, f.odd = count+1, was || odd
		if t.find(next, end+int(next.size), f) {
			return true
		}
	}
	f.odd = was
	return false
}

// inEscape reports whether value, which isn't empty, ends inside of an escape of a canonical path.
func inEscape(value []byte) bool {
	n := len(value)
	return value[n-1] == '%' || n > 1 && value[n-2] == '%'
}

// end ends the search in a rest.
func (f *search) end(r *Route, at, count int) bool {
	f.values[count] = door.Span{From: uint32(at), End: uint32(len(f.path))}
	f.route, f.n, f.open = r, count+1, at < len(f.path)
	f.odd = f.odd || isOdd(f.path[at:])
	return true
}

// segmentEnd returns where the segment ends that has the byte at, and whether it is odd. w is the word there.
func (f *search) segmentEnd(at int, w uint64) (end int, odd bool) {
	odd = byte(w) == '.'
	for {
		slash, other := zeros(w^each*'/'), odds(w)
		if slash != 0 {
			return at + bits.TrailingZeros64(slash)/8, odd || other&(slash-1)&^slash != 0
		}
		odd = odd || other != 0
		if at += 8; at >= len(f.path) {
			return len(f.path), odd
		}
		w = word(f.path, at, f.tail)
	}
}

// odds returns what zeros returns for a word with zeros where w has bytes that make a segment odd: "%", "#" and
// "\". That two more, "!" and "'", count as such only costs time.
func odds(w uint64) uint64 { return zeros(w&(each*0xf9)^each*'!') | zeros(w^each*'\\') }

// each times a byte is a word of that byte.
const each = 0x0101010101010101

// zeros returns a word that isn't 0 if and only if a byte of w is 0. Its lowest bit is in the first of these.
func zeros(w uint64) uint64 { return (w - each) &^ w & (each * 0x80) }

// isOdd reports whether a rest must be looked at more closely.
func isOdd(s []byte) bool {
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
