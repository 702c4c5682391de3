package router

// index finds, among the patterns of a router, those that a new one may conflict with, without a look
// at all of them.
type index struct {
	hosts map[string]*hostIndex
	wild  []*hostIndex // hosts with captures
}

// hostIndex has the patterns of one host.
type hostIndex struct {
	host    []segment
	crossed []*hostIndex // hosts of which neither is narrower
	all     shelf
	methods map[string]*shelf
}

// shelf has patterns by what stands at each position of their paths. Patterns that both match some
// path agree at each position at which one has a literal: the other has the same, or a capture, or a
// rest there or before. So it is enough to look at the position where there are fewest of these.
type shelf struct {
	patterns []*pattern
	literals map[place][]*pattern
	captures [][]*pattern // by position
	rests    [][]*pattern // by position
}

type place struct {
	at   int
	text string
}

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
	h.all.put(p)
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
		for _, w := range x.wild {
			if compareHosts(h.host, w.host) == overlapping {
				h.crossed, w.crossed = append(h.crossed, w), append(w.crossed, h)
			}
		}
		x.wild = append(x.wild, h)
	}
	if x.hosts == nil {
		x.hosts = map[string]*hostIndex{}
	}
	x.hosts[p.hostText] = h
	return h
}

// conflict returns a pattern of h that conflicts with p, or nil.
func (h *hostIndex) conflict(p *pattern) *pattern {
	if p.method == "" {
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
	s.patterns = append(s.patterns, p)
	for i := range p.path {
		switch seg := &p.path[i]; seg.kind {
		case literal:
			if s.literals == nil {
				s.literals = map[place][]*pattern{}
			}
			at := place{i, seg.text}
			s.literals[at] = append(s.literals[at], p)
		case capture:
			s.captures = putAt(s.captures, i, p)
		case rest:
			s.rests = putAt(s.rests, i, p)
		}
	}
}

func putAt(list [][]*pattern, i int, p *pattern) [][]*pattern {
	for len(list) <= i {
		list = append(list, nil)
	}
	list[i] = append(list[i], p)
	return list
}

// conflict returns a pattern of s that conflicts with p, or nil.
func (s *shelf) conflict(p *pattern) *pattern {
	fewest, at, rests := len(s.patterns), -1, 0
	for i := range p.path {
		if i < len(s.rests) {
			rests += len(s.rests[i])
		}
		if p.path[i].kind != literal {
			continue
		}
		n := rests + len(s.literals[place{i, p.path[i].text}])
		if i < len(s.captures) {
			n += len(s.captures[i])
		}
		if n < fewest {
			fewest, at = n, i
		}
	}
	if at < 0 {
		return firstConflict(s.patterns, p)
	}
	if old := firstConflict(s.literals[place{at, p.path[at].text}], p); old != nil {
		return old
	}
	if at < len(s.captures) {
		if old := firstConflict(s.captures[at], p); old != nil {
			return old
		}
	}
	for _, list := range s.rests[:min(at+1, len(s.rests))] {
		if old := firstConflict(list, p); old != nil {
			return old
		}
	}
	return nil
}

func firstConflict(list []*pattern, p *pattern) *pattern {
	for _, old := range list {
		if r := comparePaths(p.path, old.path); r != disjoint && conflicts(p, old) {
			return old
		}
	}
	return nil
}

// conflicts reports whether neither of two patterns that both match something is narrower.
func conflicts(a, b *pattern) bool {
	r := compare(a, b)
	return r == equal || r == overlapping
}
