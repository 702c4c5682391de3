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
	hosts    map[string]*hostIndex
	wild     map[int]*shelf      // hosts with captures, as paths, by how many labels they have
	names    map[string][]string // what pattern.names has returned, by that with commas
}

func newIndex() *index {
	return &index{hosts: map[string]*hostIndex{}, wild: map[int]*shelf{}, names: map[string][]string{}}
}

// namesOf is p.names. Patterns with the same names share them.
func (x *index) namesOf(p *pattern) []string {
	names := p.names()
	if len(names) == 0 {
		return nil
	}
	var room [128]byte
	key := room[:0]
	for _, n := range names {
		key = append(append(key, n...), ',')
	}
	if old := x.names[string(key)]; old != nil {
		return old
	}
	x.names[string(key)] = names
	return names
}

// hostIndex has the patterns of one host.
type hostIndex struct {
	host     []segment
	crossed  []*hostIndex // hosts of which neither is narrower
	patterns []*pattern
	all      *shelf // nil until it is looked at
	methods  map[string]*shelf
}

// shelf has patterns by what stands at each position of their paths. Patterns that both match some path
// agree at each position: where one has a literal, the other has the same, or a capture, or a rest there
// or before; and of two suffixes of captures one is the end of the other, as with prefixes and
// beginnings. So it is enough to look at the position where there are fewest of these.
type shelf struct {
	patterns []*pattern
	by       map[place][]*pattern
	at       []position
}

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
)

// few is how many patterns are compared sooner than others are looked for.
const few = 16

// add returns a pattern that p conflicts with, or keeps p and returns nil.
func (x *index) add(p *pattern) *pattern {
	h := x.hosts[p.hostText]
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
	x.patterns, h.patterns = append(x.patterns, p), append(h.patterns, p)
	if h.all != nil {
		h.all.put(p)
	}
	m := h.methods[p.method]
	if m == nil {
		m = &shelf{}
		h.methods[p.method] = m
	}
	m.put(p)
	return nil
}

func (x *index) addHost(p *pattern) *hostIndex {
	h := &hostIndex{host: p.host, methods: map[string]*shelf{}}
	x.hosts[p.hostText] = h
	if literals(p.host) == len(p.host) {
		return h
	}
	s := x.wild[len(p.host)]
	if s == nil {
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
			for _, old := range h.patterns {
				h.all.put(old)
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
		if s := h.methods[m]; s != nil {
			if old := s.conflict(p); old != nil {
				return old
			}
		}
	}
	return nil
}

func (s *shelf) put(p *pattern) {
	if s.by == nil {
		s.by = map[place][]*pattern{}
	}
	s.patterns = append(s.patterns, p)
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
	for _, list := range s.near(p) {
		for _, old := range list {
			if r := compare(p, old); r == equal || r == overlapping {
				return old
			}
		}
	}
	return nil
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
