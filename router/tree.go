package router

import (
	"cmp"
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
	fixed  *fixed // the routes without wildcards, which are in no node then, or nil
	// redirects says that a route may match a path with a slash at its end, and come before a rest.
	redirects bool
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

// builder builds trees, one after the other. Its memory is used again.
type builder struct {
	branches  []branch // the first one is the root
	endings   []ending
	text      []byte // where the runs are
	redirects bool   // as in the trees

	own struct { // memory for few
		branches [4]branch
		endings  [1]ending
		text     [32]byte
	}
}

// newBuilder returns a builder for trees of patterns, whose paths have wildcards.
func newBuilder(patterns, wildcards int, redirects bool) *builder {
	b := &builder{redirects: redirects}
	b.branches, b.endings, b.text = b.own.branches[:0], b.own.endings[:0], b.own.text[:0]
	if n := min(2*wildcards+patterns, 2*patterns+64) + 1; n > len(b.own.branches) {
		b.branches, b.endings, b.text = make([]branch, 0, n), make([]ending, 0, n/2), make([]byte, 0, 8*n)
	}
	return b
}

// branch is a node while the tree is built. An index of 0 is none.
type branch struct {
	from, end  uint32 // text[from:end] is its run
	kids, next uint32 // the first of the branches below it by their text, and what comes after it in such a list
	ends       uint32 // endings[ends-1] is the first of its captures
	leaf, rest *Route
}

// ending is a capture below a branch, with what follows it up to the end of the segment.
type ending struct {
	suffix string
	to     uint32 // a branch without a run
	next   uint32 // endings[next-1] is another capture of the branch
}

// add adds a route with the path of a pattern, unless there is a narrower one of the same path.
func (b *builder) add(path []segment, r *Route) {
	at, from := uint32(0), len(b.text)
	for i := range path {
		s := &path[i]
		b.text = append(b.text, '/')
		switch s.kind {
		case literal:
			b.text = appendCanonical(b.text, s.text)
		case capture:
			b.text = appendCanonical(b.text, s.text)
			at = b.ending(b.static(at, from), s.suffix)
			from = len(b.text)
		case rest:
			at = b.static(at, from)
			b.branches[at].rest = cmp.Or(b.branches[at].rest, r)
			return
		}
	}
	at = b.static(at, from)
	b.branches[at].leaf = cmp.Or(b.branches[at].leaf, r)
}

// static returns the branch below the branch at by the text that begins at from, and makes it if there is
// none.
func (b *builder) static(at uint32, from int) uint32 {
	text := b.text[from:]
	for len(text) > 0 {
		last, i := uint32(0), b.branches[at].kids
		for i != 0 && b.text[b.branches[i].from] != text[0] {
			last, i = i, b.branches[i].next
		}
		if i == 0 {
			i = b.branch(branch{from: uint32(len(b.text) - len(text)), end: uint32(len(b.text))})
			if last == 0 {
				b.branches[at].kids = i
			} else {
				b.branches[last].next = i
			}
			return i
		}
		k := &b.branches[i]
		run, n := b.text[k.from:k.end], 1
		for n < len(text) && n < len(run) && text[n] == run[n] {
			n++
		}
		if n < len(run) {
			below := *k
			below.from, below.next = k.from+uint32(n), 0
			*k = branch{from: k.from, end: below.from, next: k.next}
			kid := b.branch(below)
			b.branches[i].kids = kid
		}
		at, text = i, text[n:]
	}
	return at
}

// branch adds a branch and returns its index.
func (b *builder) branch(of branch) uint32 {
	if len(b.branches) == cap(b.branches) {
		b.branches = slices.Grow(b.branches, len(b.branches)) // append adds less at a time
	}
	b.branches = append(b.branches, of)
	return uint32(len(b.branches) - 1)
}

// ending returns the branch below the branch at after a capture with a suffix.
func (b *builder) ending(at uint32, suffix string) uint32 {
	for i := b.branches[at].ends; i != 0; i = b.endings[i-1].next {
		if b.endings[i-1].suffix == suffix {
			return b.endings[i-1].to
		}
	}
	to := b.branch(branch{})
	b.endings = append(b.endings, ending{suffix, to, b.branches[at].ends})
	b.branches[at].ends = uint32(len(b.endings))
	return to
}

// grow makes the tree of what was added, and forgets it.
func (b *builder) grow() *tree {
	count := 0
	for i := range b.branches {
		if of := &b.branches[i]; !b.leadsOn(of) {
			count += max(1, int(of.end-of.from+7)/8)
		}
	}
	t := &tree{nodes: make([]node, 1, count), redirects: b.redirects}
	b.fill(t, 0, b.branches[0])
	return t
}

// leadsOn reports whether of needs no node: there is no run, and one way only.
func (b *builder) leadsOn(of *branch) bool {
	return of.from == of.end && of.leaf == nil && of.rest == nil && of.ends == 0 && of.kids != 0 && b.branches[of.kids].next == 0
}

// fill sets t.nodes[i] to of, and adds what is below it.
func (b *builder) fill(t *tree, i uint32, of branch) {
	if b.leadsOn(&of) {
		of = b.branches[of.kids]
	}
	for of.end-of.from > 8 {
		n := b.node(t, of.from, of.from+8)
		n.count, n.labels = 1, uint64(b.text[of.from+8])
		t.nodes = append(t.nodes, node{})
		t.nodes[i] = n
		i, of.from = n.kids, of.from+8
	}
	n := b.node(t, of.from, of.end)
	n.leaf = of.leaf
	kids := 0
	for k := of.kids; k != 0; k = b.branches[k].next {
		if kids < 8 {
			n.labels |= uint64(b.text[b.branches[k].from]) << (8 * kids)
		}
		kids++
		t.nodes = append(t.nodes, node{})
	}
	if n.count = uint8(kids); kids > 8 {
		n.count, n.labels, n.jump = 0, 0, new([256]uint8)
	}
	b.fillEnds(t, &n, of)
	t.nodes[i] = n
	for k, at := of.kids, n.kids; k != 0; k, at = b.branches[k].next, at+1 {
		if n.jump != nil {
			n.jump[b.text[b.branches[k].from]] = uint8(at - n.kids + 1) // at most 255: no run begins with "#"
		}
		b.fill(t, at, b.branches[k])
	}
}

// node returns a node with a run, whose children come next in t.
func (b *builder) node(t *tree, from, end uint32) node {
	n := node{kids: uint32(len(t.nodes)), size: uint8(end - from)}
	for i, c := range b.text[from:end] {
		n.word |= uint64(c) << (8 * i)
		n.mask |= 0xff << (8 * i)
	}
	return n
}

// fillEnds adds the captures and the rest of a branch, whose node is n.
func (b *builder) fillEnds(t *tree, n *node, of branch) {
	x := extra{rest: of.rest}
	for e := of.ends; e != 0; e = b.endings[e-1].next {
		at, end := uint32(len(t.nodes)), &b.endings[e-1]
		t.nodes = append(t.nodes, node{})
		if b.fill(t, at, b.branches[end.to]); end.suffix == "" {
			n.plain = at
		} else {
			x.ends = append(x.ends, suffixed{string(appendCanonical(nil, end.suffix)), at})
		}
	}
	if x.ends == nil && x.rest == nil {
		return
	}
	narrowerFirst := func(x, y suffixed) int { return len(y.suffix) - len(x.suffix) }
	slices.SortStableFunc(x.ends, narrowerFirst)
	t.extras = append(t.extras, x)
	n.extra = uint32(len(t.extras))
}

// newTree returns the tree of patterns, nil without any. Of those with the same path, those with narrower
// methods come first.
func (b *builder) newTree(lists ...[]*pattern) *tree {
	all, static := 0, 0
	for _, list := range lists {
		all += len(list)
		for _, p := range list {
			if p.isStatic() {
				static++
			}
		}
	}
	if all == 0 {
		return nil
	}
	b.branches, b.endings, b.text = append(b.branches[:0], branch{}), b.endings[:0], b.text[:0]
	known := newFixed(static, all)
	for _, list := range lists {
		for _, p := range list {
			switch {
			case p.never():
			case known != nil && p.isStatic() && b.addFixed(known, p):
			default:
				b.add(p.path, p.route)
			}
		}
	}
	t := b.grow()
	t.fixed = known
	return t
}

// addFixed adds p, which is static, to x. It returns false if x has no room for it.
func (b *builder) addFixed(x *fixed, p *pattern) bool {
	from := len(b.text)
	b.text = p.appendStatic(b.text)
	ok := x.add(b.text[from:], p.route)
	b.text = b.text[:from]
	return ok
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

// tailOf returns the last 8 bytes of path, the last one highest. Those before its beginning are 0. It may read 8
// bytes of a shorter path: what follows it in its capacity is shifted out.
func tailOf(path []byte) uint64 {
	if len(path) >= 8 {
		return binary.LittleEndian.Uint64(path[len(path)-8:])
	}
	if cap(path) >= 8 {
		return binary.LittleEndian.Uint64(path[:8]) << (64 - 8*uint(len(path)))
	}
	var room [8]byte
	copy(room[8-len(path):], path)
	return binary.LittleEndian.Uint64(room[:])
}

// follows reports whether a path has the run of n where w is its word. A run has no zeros, see canonical.
func (n *node) follows(w uint64) bool { return (w^n.word)&n.mask == 0 }

// search looks for f.path in the tree. f has found nothing yet. A path of a route without wildcards is found
// first, since no other route is narrower.
func (t *tree) search(f *search) bool {
	if t.fixed != nil {
		if f.route = t.fixed.find(f.path); f.route != nil {
			return true
		}
	}
	f.tail = tailOf(f.path)
	root := &t.nodes[0]
	return root.follows(word(f.path, 0, f.tail)) && t.find(root, int(root.size), f)
}

// walk is search for a target as it was sent, but in the nodes only, and for most trees: it goes down while
// there is one way only, and leaves what follows to find. Values, for which m.Values has room, go to m, with
// a copy of the path. It returns nil if that isn't enough, such as for an odd path. It calls nothing in its
// loops, so that what they use stays in registers.
func (t *tree) walk(m *door.Route, target []byte) *Route {
	n, count, end, tail := &t.nodes[0], 0, len(target), tailOf(target)
	target = target[:end:end]
	if end == 0 || !n.follows(word(target, 0, tail)) {
		return nil
	}
	at := int(n.size)
down:
	for at < end {
		w := word(target, at, tail)
		if k := t.kid(n, byte(w)); k != nil && k.follows(w) {
			if n.forks() {
				break
			}
			n = k
			at += int(n.size)
			continue
		}
		switch {
		case byte(w) == '?':
			end = at
			continue
		case n.extra != 0:
			break down
		case n.plain == 0 || byte(w) == '.' || byte(w) == '/':
			return nil
		}
		from := at
		for {
			stop, odd := zeros((w|each*0x10)^each*'?'), odds(w) // '/' is '?' without the bit
			if odd != 0 && (stop == 0 || odd&(stop-1)&^stop != 0) {
				return nil
			}
			if stop != 0 {
				at += bits.TrailingZeros64(stop) / 8
				break
			}
			if at += 8; at >= end {
				at = end
				break
			}
			w = word(target, at, tail)
		}
		m.Values[count] = door.Span{From: uint32(from), End: uint32(at)}
		count++
		n = &t.nodes[n.plain]
		switch {
		case at == end || target[at] == '?':
			if end = at; n.size != 0 {
				return nil
			}
		case n.size > 1 && !n.follows(word(target, at, tail)):
			return nil
		default:
			at += int(n.size)
		}
	}
	switch {
	case at < end || n.leaf == nil && n.extra != 0:
		return t.walkOn(m, n, target[:end], at, count)
	case n.leaf != nil && count > 0:
		m.Capture(target[:end], count)
	}
	return n.leaf
}

// walkOn is walk below n, where there may be several ways.
func (t *tree) walkOn(m *door.Route, n *node, target []byte, at, count int) *Route {
	path := pathOf(target)
	f := search{path: path, tail: tailOf(path), values: m.Values, n: count}
	if !t.find(n, at, &f) || f.odd || f.open && t.redirects && path[len(path)-1] != '/' {
		return nil
	}
	if f.n > 0 {
		m.Capture(path, f.n)
	}
	return f.route
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
