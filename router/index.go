package router

import (
	"hash/maphash"
	"slices"
	"strings"
)

// index finds, among the patterns of a router, those that a new one may conflict with, without a look
// at all of them.
type index struct {
	patterns []*pattern
	any      *hostIndex // of patterns without a host
	hosts    map[string]*hostIndex
	order    []*hostIndex        // those of hosts, as they came
	wild     map[int]*shelf      // of hosts with captures, by how many labels they have
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
	shelf   *shelf                     // where its patterns are compared
	methods []*methodPatterns          // one for each method
	more    map[string]*methodPatterns // those of methods after the first ones

	own struct { // memory for the first ones
		shelf   shelf
		first   methodPatterns
		methods [2]*methodPatterns
	}
}

// methodPatterns has the patterns of one host and method.
type methodPatterns struct {
	method   string
	patterns []*pattern
	own      [2]*pattern // memory for the first ones
}

// shelf has patterns that may conflict: those of one host, or of all hosts with captures and as many labels. The
// first ones are looked at by their marks, and more by columns.
type shelf struct {
	patterns []*pattern
	marks    []mark // of patterns, until there are columns
	columns  *columns

	own struct { // memory for the first ones
		patterns [2]*pattern
		marks    [2]mark
	}
}

// mark has a byte for the method, and for each of the first segments of a path: of where the path ends, or of a
// literal. Two patterns with different bytes at one place match no request both.
type mark struct {
	bytes uint64
	known uint64 // where there are such bytes
}

// maxMarked is how many patterns are looked at by their marks.
const maxMarked = 256

// add returns a pattern that p conflicts with, or keeps p and returns nil.
func (x *index) add(p *pattern) *pattern {
	h := x.host(p.hostText)
	if h == nil {
		h = x.addHost(p)
	}
	if old := h.shelf.conflict(p); old != nil {
		return old
	}
	if x.patterns == nil {
		x.patterns = x.own.patterns[:0]
	}
	x.patterns = append(x.patterns, p)
	h.shelf.put(p)
	m := h.of(p.method)
	if m == nil {
		m = h.addMethod(p.method)
	}
	m.patterns = append(m.patterns, p)
	return nil
}

// fewMethods is how many methods are looked through.
const fewMethods = 12

// of returns the patterns of a method, nil if there are none.
func (h *hostIndex) of(method string) *methodPatterns {
	for _, m := range h.methods[:min(len(h.methods), fewMethods)] {
		if m.method == method {
			return m
		}
	}
	return h.more[method]
}

func (h *hostIndex) addMethod(method string) *methodPatterns {
	m := &h.own.first
	if h.methods == nil {
		h.methods = h.own.methods[:0]
	} else {
		m = &methodPatterns{}
	}
	m.method, m.patterns = method, m.own[:0]
	if h.methods = append(h.methods, m); len(h.methods) > fewMethods {
		if h.more == nil {
			h.more = map[string]*methodPatterns{}
		}
		h.more[method] = m
	}
	return m
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
	h := &x.own.host
	if p.hostText == "" {
		x.any = h
	} else {
		h = &hostIndex{host: p.host, text: p.hostText}
		if x.hosts == nil {
			x.hosts = map[string]*hostIndex{}
		}
		x.hosts[p.hostText] = h
	}
	x.order = append(x.order, h)
	h.shelf = &h.own.shelf
	if literals(p.host) == len(p.host) {
		return h
	}
	if x.wild == nil {
		x.wild = map[int]*shelf{}
	}
	if s := x.wild[len(p.host)]; s != nil {
		h.shelf = s
	} else {
		x.wild[len(p.host)] = h.shelf
	}
	return h
}

// markOf returns the mark of a pattern.
func markOf(p *pattern) (m mark) {
	if p.method != "" {
		m = mark{bytes: textByte(comparedMethod(p.method)), known: 0xff}
	}
	for i := range 7 {
		value := uint64(0) // where the path ends
		if i < len(p.path) {
			switch p.path[i].kind {
			case capture:
				continue
			case rest:
				return m
			}
			value = textByte(p.path[i].text)
		}
		m.bytes |= value << (8*i + 8)
		m.known |= 0xff << (8*i + 8)
		if i >= len(p.path) {
			break
		}
	}
	return m
}

// textByte returns a byte of a text that isn't 0.
func textByte(text string) uint64 {
	h := uint32(len(text))
	for _, c := range []byte(text) {
		h = h*31 + uint32(c)
	}
	return uint64(h%255) + 1
}

// comparedMethod returns what is the same for two methods with which a request may be matched by both.
func comparedMethod(method string) string {
	if method == "HEAD" {
		return "GET"
	}
	return method
}

// differs reports whether two patterns match no request both, as far as their marks say.
func (m mark) differs(other mark) bool { return (m.bytes^other.bytes)&m.known&other.known != 0 }

// conflict returns a pattern of s that conflicts with p, or nil.
func (s *shelf) conflict(p *pattern) *pattern {
	if s.columns == nil {
		for i, m := range s.marks {
			if !m.differs(p.mark) && conflict(p, s.patterns[i]) {
				return s.patterns[i]
			}
		}
		return nil
	}
	s.columns.look(p, s.patterns)
	for old := range s.near() {
		if conflict(p, old) {
			return old
		}
	}
	return nil
}

func conflict(a, b *pattern) bool {
	r := compare(a, b)
	return r == equal || r == overlapping
}

// put adds a pattern, which conflict got just before.
func (s *shelf) put(p *pattern) {
	if s.patterns == nil {
		s.patterns, s.marks = s.own.patterns[:0], s.own.marks[:0]
	}
	s.patterns = append(s.patterns, p)
	switch {
	case s.columns != nil:
		s.columns.put()
	case len(s.patterns) <= maxMarked:
		s.marks = append(s.marks, p.mark)
	default:
		s.addColumns()
	}
}

// addColumns ends that patterns are looked at by their marks.
func (s *shelf) addColumns() {
	s.columns, s.marks = &columns{seed: maphash.MakeSeed()}, nil
	for _, p := range s.patterns {
		s.columns.look(p, s.patterns)
		s.columns.put()
	}
}
