package router

import "slices"

// index finds, among the patterns of a router, those that a new one may conflict with, without a look
// at all of them.
type index struct {
	patterns []*pattern
	hosts    map[string]*hostIndex
	wild     []*hostIndex            // hosts with captures
	tops     map[string][]*hostIndex // the same by their last labels, "" for a capture
	names    map[string][]string     // what pattern.names has returned, by that with commas
}

func newIndex() *index {
	return &index{hosts: map[string]*hostIndex{}, tops: map[string][]*hostIndex{}, names: map[string][]string{}}
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
	literals [][]*pattern // by position
	captures [][]*pattern // by position
	noPrefix [][]*pattern // the captures without a prefix
	noSuffix [][]*pattern // those without a suffix
	rests    [][]*pattern // by position
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
	someSuffix              // what the suffix of a capture ends with: at most maxEnd bytes
	thisSuffix              // the suffix of a capture
	somePrefix              // what its prefix begins with
	thisPrefix
)

// maxEnd is how many bytes of a suffix or prefix patterns are looked up by.
const maxEnd = 16

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
	if literals(p.host) < len(p.host) {
		top := h.host[len(h.host)-1].text
		others := slices.Concat(x.tops[top], x.tops[""])
		if top == "" {
			others = x.wild
		}
		for _, w := range others {
			if compareHosts(h.host, w.host) == overlapping {
				h.crossed, w.crossed = append(h.crossed, w), append(w.crossed, h)
			}
		}
		x.wild, x.tops[top] = append(x.wild, h), append(x.tops[top], h)
	}
	x.hosts[p.hostText] = h
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
		seg := &p.path[i]
		switch seg.kind {
		case literal:
			s.literals = putAt(s.literals, i, p)
			s.putBy(place{i, wholeText, seg.text}, p)
		case capture:
			s.captures = putAt(s.captures, i, p)
			if seg.suffix == "" {
				s.noSuffix = putAt(s.noSuffix, i, p)
			} else {
				s.putBy(place{i, thisSuffix, seg.suffix}, p)
			}
			if seg.text == "" {
				s.noPrefix = putAt(s.noPrefix, i, p)
			} else {
				s.putBy(place{i, thisPrefix, seg.text}, p)
			}
			for n := 1; n <= min(len(seg.suffix), maxEnd); n++ {
				s.putBy(place{i, someSuffix, seg.suffix[len(seg.suffix)-n:]}, p)
			}
			for n := 1; n <= min(len(seg.text), maxEnd); n++ {
				s.putBy(place{i, somePrefix, seg.text[:n]}, p)
			}
		case rest:
			s.rests = putAt(s.rests, i, p)
		}
	}
}

func (s *shelf) putBy(at place, p *pattern) { s.by[at] = append(s.by[at], p) }

func putAt(list [][]*pattern, i int, p *pattern) [][]*pattern {
	for len(list) <= i {
		list = append(list, nil)
	}
	list[i] = append(list[i], p)
	return list
}

// conflict returns a pattern of s that conflicts with p, or nil.
func (s *shelf) conflict(p *pattern) *pattern {
	best, fewest, rests := [][]*pattern{s.patterns}, len(s.patterns), 0
	for i := range p.path {
		if i < len(s.rests) {
			rests += len(s.rests[i])
		}
		seg := &p.path[i]
		var ways [2][][]*pattern
		switch {
		case seg.kind == literal:
			ways[0] = [][]*pattern{s.by[place{i, wholeText, seg.text}], in(s.captures, i)}
		case seg.kind == capture && fewest > maxEnd:
			ways = s.affixes(i, seg)
		}
		for _, lists := range ways {
			if n := rests + total(lists); lists != nil && n < fewest {
				best, fewest = append(lists, s.rests[:min(i+1, len(s.rests))]...), n
			}
		}
	}
	for _, list := range best {
		if old := firstConflict(list, p); old != nil {
			return old
		}
	}
	return nil
}

// affixes returns, twice, lists with all patterns that agree with a capture at a position: found by its
// suffix and by its prefix. One is nil where there is none.
func (s *shelf) affixes(i int, seg *segment) (ways [2][][]*pattern) {
	if n := len(seg.suffix); n > 0 {
		ways[0] = [][]*pattern{in(s.literals, i), in(s.noSuffix, i), s.by[place{i, someSuffix, seg.suffix[n-min(n, maxEnd):]}]}
		for from := 1; from < n; from++ {
			ways[0] = appendList(ways[0], s.by[place{i, thisSuffix, seg.suffix[from:]}])
		}
	}
	if n := len(seg.text); n > 0 {
		ways[1] = [][]*pattern{in(s.literals, i), in(s.noPrefix, i), s.by[place{i, somePrefix, seg.text[:min(n, maxEnd)]}]}
		for end := 1; end < n; end++ {
			ways[1] = appendList(ways[1], s.by[place{i, thisPrefix, seg.text[:end]}])
		}
	}
	return ways
}

func appendList(lists [][]*pattern, list []*pattern) [][]*pattern {
	if list == nil {
		return lists
	}
	return append(lists, list)
}

func in(lists [][]*pattern, i int) []*pattern {
	if i < len(lists) {
		return lists[i]
	}
	return nil
}

func total(lists [][]*pattern) (n int) {
	for _, list := range lists {
		n += len(list)
	}
	return n
}

// firstConflict returns a pattern of list that matches something that p matches, where neither is narrower.
func firstConflict(list []*pattern, p *pattern) *pattern {
	for _, old := range list {
		if r := compare(p, old); r == equal || r == overlapping {
			return old
		}
	}
	return nil
}
