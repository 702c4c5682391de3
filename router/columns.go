package router

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// columns say what the patterns of a shelf have in their places: the method, how many segments the path has, and the
// text of a label or segment, its first or last bytes, and its length. Two patterns that both match some request have
// the same in each place where both have something. A column is one place of all patterns. It is compared for 64
// patterns at a time, so a new pattern takes little time whatever the others are.
type columns struct {
	seed           maphash.Seed
	count          int // how many patterns are in them
	method, length column
	at             []position // of the labels of a host and then the segments of a path
	nested         []*nested  // for each set of labels that are captures
	byLabels       map[labels]*nested

	// Of the pattern that look got:
	pattern       *pattern
	cells, useful []cell
	hosts         *nested // nil if the host has no captures
}

// position has the columns of a label or segment.
type position struct {
	literals column
	parts    [3][]part // prefixes, suffixes and lengths
}

const (
	prefixes = iota
	suffixes
	lengths // the least of a capture that has a prefix or suffix
)

// part has the column of the first or last bytes of literals and of captures with such a prefix or suffix, or of
// whether they have so many bytes.
type part struct {
	size   int     // bytes
	count  int     // how many captures have a part of this size
	column *column // nil while these are few
}

// few is how many captures have a part of one size before that has a column.
const few = 8

// column has 16 bits of a hash of what patterns have in one place.
type column struct {
	blocks []block // of 64 patterns each; those at the end that have nothing there are left out
	known  int     // how many patterns have something there
	kinds  int     // how many different first bytes of hashes these have
	seen   [4]uint64
}

// block has a bit for each of 64 patterns: whether there is something, and the bits of the hash.
type block struct {
	known uint64
	bits  [2][8]uint64
}

// cell is what one pattern has in a column.
type cell struct {
	column *column
	hash   uint16
	near   int // about how many patterns have the same or nothing there
}

// look sets the cells of p, which isn't in the columns. The patterns that are come first in patterns.
func (c *columns) look(p *pattern, patterns []*pattern) {
	c.pattern, c.cells, c.hosts = p, c.cells[:0], nil
	if p.captured != "" {
		c.hosts = c.hostsLike(p.captured, patterns[:c.count])
	}
	if n := len(p.host) + len(p.path); n > len(c.at) {
		c.at = slices.Grow(c.at, n-len(c.at))[:n]
	}
	if p.method != "" {
		c.cell(&c.method, c.hash(comparedMethod(p.method), 0))
	}
	if last := &p.path[len(p.path)-1]; last.kind != rest {
		hash := uint16(2 * len(p.path))
		if last.kind == literal && last.text == "" { // no capture is that
			hash++
		}
		c.cell(&c.length, hash)
	}
	for i := range c.at {
		seg := p.at(i)
		if seg == nil {
			break
		}
		at := &c.at[i]
		if seg.kind == literal {
			c.cell(&at.literals, c.hash(seg.text, i))
		}
		for what := range at.parts {
			if n := seg.size(what); n > 0 && seg.kind == capture {
				c.need(i, what, n, patterns[:c.count])
			}
			for _, part := range at.parts[what] {
				if part.column == nil {
					continue
				}
				if hash, ok := c.part(seg, i, what, part.size); ok {
					c.cell(part.column, hash)
				}
			}
		}
	}
}

// labels has a bit for each label of a host: whether it is a capture. It is empty if none is.
type labels string

// nested says which patterns have hosts that are narrower or wider than those with some labels as captures, or match no
// host that these match. There is no conflict with these patterns, whatever their paths are.
type nested struct {
	captured labels
	blocks   []uint64 // a bit for each pattern
}

// hostsLike returns what c has for a host with these captures. patterns are those that are in the columns.
func (c *columns) hostsLike(captured labels, patterns []*pattern) *nested {
	h := c.byLabels[captured]
	if h == nil {
		if c.byLabels == nil {
			c.byLabels = map[labels]*nested{}
		}
		h = &nested{captured: captured}
		for n, p := range patterns {
			h.put(n, p)
		}
		c.nested, c.byLabels[captured] = append(c.nested, h), h
	}
	return h
}

// put adds the pattern of a number.
func (h *nested) put(n int, p *pattern) {
	if n%64 == 0 {
		h.blocks = append(h.blocks, 0)
	}
	all := equal
	for i := range len(h.captured) {
		a, b := h.captured[i], p.captured[i]
		all = all.and(compareEnds(a == b, a&b == a, a&b == b))
	}
	if all == narrower || all == wider {
		h.blocks[n/64] |= 1 << (n % 64)
	}
}

// at returns the label or segment at a position, nil if there is none before the end or a rest.
func (p *pattern) at(i int) *segment {
	if i < len(p.host) {
		return &p.host[i]
	}
	if i -= len(p.host); i < len(p.path) && p.path[i].kind != rest {
		return &p.path[i]
	}
	return nil
}

// size returns how many bytes all that s matches has: at its beginning, at its end, or at least, if it is a capture
// with a prefix or suffix. s is no rest.
func (s *segment) size(what int) int {
	switch {
	case s.kind == literal || what == prefixes:
		return len(s.text)
	case what == suffixes:
		return len(s.suffix)
	case s.text == "" && s.suffix == "":
		return 0
	}
	return len(s.text) + 1 + len(s.suffix)
}

// part returns a hash of what s, at a position, has as a part of a size. ok is false if it hasn't got one.
func (c *columns) part(s *segment, at, what, size int) (hash uint16, ok bool) {
	has := s.size(what)
	switch {
	case what == lengths:
		return uint16(min(has/size, 1)), has >= size || s.kind == literal
	case has < size:
		return 0, false
	case what == prefixes:
		return c.hash(s.text[:size], at), true
	case s.kind == literal:
		return c.hash(s.text[has-size:], at), true
	}
	return c.hash(s.suffix[has-size:], at), true
}

// need counts a capture with a part of a size at a position, and makes the column of those if there are enough.
// patterns are those that are in the columns.
func (c *columns) need(at, what, size int, patterns []*pattern) {
	list := &c.at[at].parts[what]
	i := slices.IndexFunc(*list, func(p part) bool { return p.size == size })
	if i < 0 {
		i = len(*list)
		*list = append(*list, part{size: size})
	}
	part := &(*list)[i]
	if part.count++; part.count <= few || part.column != nil {
		return
	}
	part.column = &column{}
	for n, p := range patterns {
		if seg := p.at(at); seg != nil {
			if hash, ok := c.part(seg, at, what, size); ok {
				part.column.put(n, hash)
			}
		}
	}
}

// hash returns a hash of a text at a position. Two texts with the same one at a position most likely have different ones
// at others.
func (c *columns) hash(text string, at int) uint16 {
	const odd = 0x9e3779b97f4a7c15
	return uint16((maphash.String(c.seed, text) ^ uint64(at)*odd) * odd >> 48)
}

// cell adds a cell of the pattern that is looked at.
func (c *columns) cell(in *column, hash uint16) {
	c.cells = append(c.cells, cell{column: in, hash: hash})
}

// put adds the pattern that was looked at.
func (c *columns) put() {
	for _, in := range c.cells {
		in.column.put(c.count, in.hash)
	}
	for _, h := range c.nested {
		h.put(c.count, c.pattern)
	}
	c.count++
}

// put sets what the pattern of a number has in c.
func (c *column) put(n int, hash uint16) {
	for len(c.blocks) <= n/64 {
		c.blocks = append(c.blocks, block{})
	}
	b, bit := &c.blocks[n/64], uint64(1)<<(n%64)
	b.known |= bit
	for i := range 16 {
		if hash>>i&1 != 0 {
			b.bits[i/8][i%8] |= bit
		}
	}
	c.known++
	if seen, bit := c.of(hash); *seen&bit == 0 {
		*seen |= bit
		c.kinds++
	}
}

// of returns where seen has the first byte of a hash.
func (c *column) of(hash uint16) (seen *uint64, bit uint64) {
	return &c.seen[uint8(hash)/64], 1 << (hash % 64)
}

// near returns the patterns that may match a request which the one that was looked at also matches, and few others.
func (s *shelf) near() iter.Seq[*pattern] {
	return func(yield func(*pattern) bool) {
		cells := s.columns.order()
		for n := 0; n < len(s.patterns); n += 64 {
			left := ^uint64(0) >> max(0, n+64-len(s.patterns))
			if h := s.columns.hosts; h != nil {
				left &^= h.blocks[n/64]
			}
			for i := 0; i < len(cells) && left != 0; i++ {
				if blocks := cells[i].column.blocks; n/64 < len(blocks) {
					left = blocks[n/64].among(left, cells[i].hash)
				}
			}
			for ; left != 0; left &= left - 1 {
				if !yield(s.patterns[n+bits.TrailingZeros64(left)]) {
					return
				}
			}
		}
	}
}

// order returns the cells that exclude patterns, roughly those that exclude most first.
func (c *columns) order() []cell {
	for i := range c.cells {
		in := &c.cells[i]
		of := in.column
		in.near = c.count - of.known
		if seen, bit := of.of(in.hash); *seen&bit != 0 {
			in.near += of.known / of.kinds
		}
	}
	c.useful = c.useful[:0]
	for from, to := 0, c.count/64; from < c.count; from, to = to, min(2*to+1, c.count) {
		for _, in := range c.cells {
			if in.near >= from && in.near < to {
				c.useful = append(c.useful, in)
			}
		}
	}
	return c.useful
}

// among returns those of left, a set of 64 patterns, that have the same hash there or nothing.
func (b *block) among(left uint64, hash uint16) uint64 {
	if left &^= b.known & differ(&b.bits[0], &spread[uint8(hash)]); left == 0 {
		return 0
	}
	return left &^ (b.known & differ(&b.bits[1], &spread[hash>>8]))
}

// differ returns which of 64 bytes, given by their bits, are different.
func differ(a, b *[8]uint64) uint64 {
	return (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6]) | (a[7] ^ b[7])
}

// spread has the bits of each byte, 64 times each.
var spread = func() (m [256][8]uint64) {
	for b := range m {
		for i := range m[b] {
			m[b][i] = -uint64(b >> i & 1)
		}
	}
	return m
}()
