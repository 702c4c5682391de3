package router

import (
	"slices"
	"sort"
	"strings"
)

// index finds, among the patterns of a router, those that a new one may conflict with, without a look
// at all of them.
type index struct {
	patterns []*pattern
	any      *hostIndex // of patterns without a host
	hosts    map[string]*hostIndex
	order    []*hostIndex        // those of hosts, as they came
	wild     map[int]*shelf      // hosts with captures, as paths, by how many labels they have
	lists    [4][]string         // names of wildcards, while there are few
	names    map[string][]string // the same when there are many, by that with commas
	memory   memory

	own struct { // memory for the first ones, and for no host
		patterns [2]*pattern
		host     hostIndex
		order    [1]*hostIndex
	}
}

// namesOf is p.names. Patterns with the same names share them.
func (x *index) namesOf(p *pattern) []string {
	var room [24]string
	now := p.appendNames(room[:0])
	if len(now) == 0 {
		return nil
	}
	if x.names == nil {
		for i, old := range x.lists {
			if old == nil {
				x.lists[i] = slices.Clone(now)
				return x.lists[i]
			}
			if slices.Equal(old, now) {
				return old
			}
		}
		x.names = map[string][]string{}
		for _, old := range x.lists {
			x.names[strings.Join(old, ",")] = old
		}
	}
	key := strings.Join(now, ",")
	names := x.names[key]
	if names == nil {
		names = slices.Clone(now)
		x.names[key] = names
	}
	return names
}

// hostIndex has the patterns of one host.
type hostIndex struct {
	host    []segment
	text    string
	crossed []*hostIndex      // hosts of which neither is narrower
	all     *shelf            // nil until it is looked at
	methods []*shelf          // one for each method
	more    map[string]*shelf // those of methods after the first ones

	own struct { // memory for the first ones
		shelf   shelf
		methods [2]*shelf
	}
}

// shelf has patterns by what stands at each position of their paths. Patterns that both match some path
// agree at each position: where one has a literal, the other has the same, or a capture, or a rest there
// or before; and of two suffixes of captures one is the end of the other, as with prefixes and
// beginnings. So it is enough to look at the position where there are fewest of these.
//
// While there are few patterns, all of them are looked at, by their marks.
type shelf struct {
	method   string // of all patterns, unless it is hostIndex.all
	patterns []*pattern
	marks    []mark // of patterns, until they are sorted
	by       map[place][]*pattern
	at       []position

	own struct { // memory for the first ones
		patterns [2]*pattern
		marks    [2]mark
	}
}

// mark has a byte for each of the first segments of a path: of where the path ends, or of a literal. Two paths
// with different bytes at one place have nothing in common.
type mark struct {
	bytes uint64
	known uint64 // where there are such bytes
}

// maxMarked is how many patterns are looked at by their marks only.
const maxMarked = 256

// position has the patterns of a shelf by what stands at one position.
type position struct {
	literals, captures, rests []*pattern
	noPrefix, noSuffix        []*pattern // of the captures
	// Literals by their texts, and captures by their prefixes or, in ends, suffixes. Those in ends are
	// reversed. Both are nil until they are looked at.
	starts, ends *sorted
}

// sorted has patterns in the order of their texts.
type sorted struct {
	texts    []string
	patterns []*pattern
}

// place is a text at a position of a path.
type place struct {
	at   int
	what uint8
	text string
}

// What the text of a place is.
const (
	wholeText  uint8 = iota // a literal
	thisSuffix              // the suffix of a capture
	thisPrefix
	pathEnd // "", where a path ends that has no rest
)

// few is how many patterns are compared sooner than others are looked for.
const few = 16

// add returns a pattern that p conflicts with, or keeps p and returns nil.
func (x *index) add(p *pattern) *pattern {
	h := x.host(p.hostText)
	if h == nil {
		h = x.addHost(p)
	}
	if old := h.conflict(p); old != nil {
		return old
	}
	for _, c := range h.crossed {
		if old := c.conflict(p); old != nil {
			return old
		}
	}
	if x.patterns == nil {
		x.patterns = x.own.patterns[:0]
	}
	x.patterns = append(x.patterns, p)
	if h.all != nil {
		h.all.put(p)
	}
	m := h.shelf(p.method)
	if m == nil {
		m = h.addShelf(p.method)
	}
	m.put(p)
	return nil
}

// fewMethods is how many methods are looked through.
const fewMethods = 12

// shelf returns the patterns of a method, nil if there are none.
func (h *hostIndex) shelf(method string) *shelf {
	for _, s := range h.methods[:min(len(h.methods), fewMethods)] {
		if s.method == method {
			return s
		}
	}
	return h.more[method]
}

func (h *hostIndex) addShelf(method string) *shelf {
	s := &h.own.shelf
	if h.methods == nil {
		h.methods = h.own.methods[:0]
	} else {
		s = &shelf{}
	}
	s.method = method
	if h.methods = append(h.methods, s); len(h.methods) > fewMethods {
		if h.more == nil {
			h.more = map[string]*shelf{}
		}
		h.more[method] = s
	}
	return s
}

// host returns the patterns of a host, nil if there are none.
func (x *index) host(text string) *hostIndex {
	if text == "" {
		return x.any
	}
	return x.hosts[text]
}

func (x *index) addHost(p *pattern) *hostIndex {
	if x.order == nil {
		x.order = x.own.order[:0]
	}
	if p.hostText == "" {
		x.any = &x.own.host
		x.order = append(x.order, x.any)
		return x.any
	}
	h := &hostIndex{host: p.host, text: p.hostText}
	x.order = append(x.order, h)
	if x.hosts == nil {
		x.hosts = map[string]*hostIndex{}
	}
	x.hosts[p.hostText] = h
	if literals(p.host) == len(p.host) {
		return h
	}
	s := x.wild[len(p.host)]
	if s == nil {
		if x.wild == nil {
			x.wild = map[int]*shelf{}
		}
		s = &shelf{}
		x.wild[len(p.host)] = s
	}
	as := &pattern{path: p.host, hostText: p.hostText}
	for _, list := range s.near(as) {
		for _, other := range list {
			if w := x.hosts[other.hostText]; compareHosts(h.host, w.host) == overlapping {
				h.crossed, w.crossed = append(h.crossed, w), append(w.crossed, h)
			}
		}
	}
	s.put(as)
	return h
}

// conflict returns a pattern of h that conflicts with p, or nil.
func (h *hostIndex) conflict(p *pattern) *pattern {
	if p.method == "" {
		if h.all == nil {
			h.all = &shelf{}
			for _, s := range h.methods {
				for _, old := range s.patterns {
					h.all.put(old)
				}
			}
		}
		return h.all.conflict(p)
	}
	others := [...]string{p.method, "", ""}
	switch p.method {
	case "GET":
		others[2] = "HEAD"
	case "HEAD":
		others[2] = "GET"
	}
	for _, m := range others {
		if s := h.shelf(m); s != nil {
			if old := s.conflict(p); old != nil {
				return old
			}
		}
	}
	return nil
}

// markOf returns the mark of a path.
func markOf(path []segment) (m mark) {
	for i := range 8 {
		value := uint64(0) // where the path ends
		if i < len(path) {
			switch path[i].kind {
			case capture:
				continue
			case rest:
				return m
			}
			h := uint32(len(path[i].text))
			for _, c := range []byte(path[i].text) {
				h = h*31 + uint32(c)
			}
			value = uint64(h%255) + 1
		}
		m.bytes |= value << (8 * i)
		m.known |= 0xff << (8 * i)
		if i >= len(path) {
			break
		}
	}
	return m
}

// differs reports whether two paths have nothing in common, as far as their marks say.
func (m mark) differs(other mark) bool { return (m.bytes^other.bytes)&m.known&other.known != 0 }

func (s *shelf) put(p *pattern) {
	if s.patterns == nil {
		s.patterns, s.marks = s.own.patterns[:0], s.own.marks[:0]
	}
	s.patterns = append(s.patterns, p)
	switch {
	case s.by != nil:
		s.sort(p)
	case len(s.patterns) <= maxMarked:
		s.marks = append(s.marks, p.mark)
	default:
		s.sortAll()
	}
}

// sortAll ends that all patterns are looked at.
func (s *shelf) sortAll() {
	s.by, s.marks = map[place][]*pattern{}, nil
	for _, p := range s.patterns {
		s.sort(p)
	}
}

// sort adds p to by and at.
func (s *shelf) sort(p *pattern) {
	for i := range p.path {
		if i == len(s.at) {
			s.at = append(s.at, position{})
		}
		at, seg := &s.at[i], &p.path[i]
		switch seg.kind {
		case literal:
			at.literals = append(at.literals, p)
			s.putBy(place{i, wholeText, seg.text}, p)
		case capture:
			at.captures = append(at.captures, p)
			if seg.suffix == "" {
				at.noSuffix = append(at.noSuffix, p)
			} else {
				s.putBy(place{i, thisSuffix, seg.suffix}, p)
			}
			if seg.text == "" {
				at.noPrefix = append(at.noPrefix, p)
			} else {
				s.putBy(place{i, thisPrefix, seg.text}, p)
			}
		case rest:
			at.rests = append(at.rests, p)
			continue
		}
		if at.starts != nil {
			at.sort(i, p)
		}
	}
	if n := len(p.path); p.path[n-1].kind != rest {
		s.putBy(place{at: n, what: pathEnd}, p)
	}
}

func (s *shelf) putBy(at place, p *pattern) { s.by[at] = append(s.by[at], p) }

// sort adds p to starts and ends of the position i.
func (at *position) sort(i int, p *pattern) {
	seg := &p.path[i]
	at.starts.put(seg.text, p)
	if seg.kind == literal {
		at.ends.put(reversed(seg.text), p)
	} else {
		at.ends.put(reversed(seg.suffix), p)
	}
}

func (s *sorted) put(text string, p *pattern) {
	i, _ := slices.BinarySearch(s.texts, text)
	s.texts, s.patterns = slices.Insert(s.texts, i, text), slices.Insert(s.patterns, i, p)
}

// with returns the patterns whose texts begin with prefix.
func (s *sorted) with(prefix string) []*pattern {
	from, _ := slices.BinarySearch(s.texts, prefix)
	n := sort.Search(len(s.texts)-from, func(i int) bool { return !strings.HasPrefix(s.texts[from+i], prefix) })
	return s.patterns[from : from+n]
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// conflict returns a pattern of s that conflicts with p, or nil.
func (s *shelf) conflict(p *pattern) *pattern {
	if s.by == nil {
		for i, m := range s.marks {
			if !m.differs(p.mark) && conflict(p, s.patterns[i]) {
				return s.patterns[i]
			}
		}
		return nil
	}
	for _, list := range s.near(p) {
		for _, old := range list {
			if conflict(p, old) {
				return old
			}
		}
	}
	return nil
}

func conflict(a, b *pattern) bool {
	r := compare(a, b)
	return r == equal || r == overlapping
}

// near returns lists with all patterns of s that match a path that p matches, and as few others as can be
// found quickly.
func (s *shelf) near(p *pattern) [][]*pattern {
	best, fewest := [][]*pattern{s.patterns}, len(s.patterns)
	var rests [][]*pattern
	for i := range p.path[:min(len(p.path), len(s.at))] {
		at, seg := &s.at[i], &p.path[i]
		if at.rests != nil {
			rests = append(rests, at.rests)
		}
		take := func(lists [][]*pattern) {
			if n := total(rests) + total(lists); lists != nil && n < fewest {
				best, fewest = slices.Concat(lists, rests), n
			}
		}
		many := seg.kind == capture
		if seg.kind == literal {
			take([][]*pattern{s.by[place{i, wholeText, seg.text}], at.captures})
			many = len(at.captures) > few
		}
		if many && fewest > few {
			take(s.bySuffix(i, seg))
			take(s.byPrefix(i, seg))
		}
	}
	if n := len(p.path); s.by != nil && p.path[n-1].kind != rest && fewest > few {
		if same := s.by[place{at: n, what: pathEnd}]; total(rests)+len(same) < fewest {
			best = append(rests, same)
		}
	}
	return best
}

// bySuffix returns lists with all patterns that agree at the position i with the end of a segment, nil if
// it is a capture without a suffix.
func (s *shelf) bySuffix(i int, seg *segment) [][]*pattern {
	text, longer := seg.suffix, []*pattern(nil)
	switch {
	case seg.kind == literal:
		text, longer = seg.text, s.by[place{i, wholeText, seg.text}]
	case text == "":
		return nil
	default:
		longer = s.sorted(i).ends.with(reversed(text))
	}
	lists := [][]*pattern{longer, s.at[i].noSuffix}
	for from := 1; from < len(text); from++ {
		lists = appendList(lists, s.by[place{i, thisSuffix, text[from:]}])
	}
	return lists
}

// byPrefix is bySuffix for the beginning of a segment.
func (s *shelf) byPrefix(i int, seg *segment) [][]*pattern {
	text, longer := seg.text, []*pattern(nil)
	switch {
	case seg.kind == literal:
		longer = s.by[place{i, wholeText, text}]
	case text == "":
		return nil
	default:
		longer = s.sorted(i).starts.with(text)
	}
	lists := [][]*pattern{longer, s.at[i].noPrefix}
	for end := 1; end < len(text); end++ {
		lists = appendList(lists, s.by[place{i, thisPrefix, text[:end]}])
	}
	return lists
}

// sorted returns a position with starts and ends.
func (s *shelf) sorted(i int) *position {
	at := &s.at[i]
	if at.starts == nil {
		at.starts, at.ends = &sorted{}, &sorted{}
		for _, list := range [][]*pattern{at.literals, at.captures} {
			for _, p := range list {
				at.sort(i, p)
			}
		}
	}
	return at
}

func appendList(lists [][]*pattern, list []*pattern) [][]*pattern {
	if list == nil {
		return lists
	}
	return append(lists, list)
}

func total(lists [][]*pattern) (n int) {
	for _, list := range lists {
		n += len(list)
	}
	return n
}
