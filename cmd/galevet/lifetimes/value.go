package lifetimes

import (
	"maps"
	"strings"

	"golang.org/x/tools/go/ssa"
)

type rootKind uint8

const (
	kParam   rootKind = iota // a parameter or a captured variable of the function
	kGlobal                  // a variable of a package
	kAlloc                   // made here, or by a function called here
	kAcquire                 // from a pool
)

// A root is where values of a function come from.
type root struct {
	kind  rootKind
	base  int    // of kParam: the input's number
	name  string // of kGlobal: package.name
	val   ssa.Value
	lent  []string // paths to contexts
	long  bool     // outlives the request
	free  bool
	pool  string        // of kAcquire: the function
	clo   *closure      // of kAlloc: the closure
	fn    *ssa.Function // of kAlloc: the function itself
	typed owner         // of kAcquire and kAlloc of an owner type
}

// A thing is what a value may be: with addr the address of a place, otherwise what was in
// that place when the function began. Paths are those of Ref.
type thing struct {
	r    *root
	path string
	addr bool
	src  ssa.Value // the call that borrowed it
}

// derived says whether t is memory that an accessor returned. All parts of it are alike.
func (t thing) derived() bool {
	return strings.HasSuffix(t.path, ")")
}

// unsafeString says whether strings in t alias lent memory too.
func (t thing) unsafeString() bool { return strings.HasSuffix(t.path, "(s)") }

const maxSteps = 5

// extend appends one step to t's path, the address of what is there.
func (t thing) extend(step string) thing {
	if t.derived() {
		return t
	}
	if strings.Count(t.path, ".")+strings.Count(t.path, "[")+strings.Count(t.path, "*")+strings.Count(t.path, "@") < maxSteps {
		t.path += step
	}
	t.addr = true
	return t
}

// vt is a thing in a part of a value: sub is the path to a field of a struct or tuple.
type vt struct {
	sub string
	t   thing
}

type val map[vt]struct{}

func (v val) add(sub string, t thing) val {
	if v == nil {
		v = val{}
	}
	v[vt{sub, t}] = struct{}{}
	return v
}

func (v val) addAll(w val) val {
	for x := range w {
		v = v.add(x.sub, x.t)
	}
	return v
}

func one(t thing) val { return val{vt{"", t}: {}} }

// under says whether path q is p or lies below it.
func under(q, p string) bool {
	if !strings.HasPrefix(q, p) {
		return false
	}
	return len(q) == len(p) || strings.IndexByte(".[*(@{~#<", q[len(p)]) >= 0
}

// deref returns the places that the pointers in v point to.
func deref(v val) []thing {
	var out []thing
	for x := range v {
		if x.sub != "" {
			continue
		}
		t := x.t
		if !t.addr && !t.derived() {
			t = t.extend("*")
		}
		out = append(out, t)
	}
	return out
}

// elem returns the places of v's elements, or with "[k]" of its keys.
func elem(v val, step string) []thing {
	var out []thing
	for x := range v {
		if x.sub == "" {
			out = append(out, x.t.extend(step))
		}
	}
	return out
}

// splitPath cuts a path into steps.
func splitPath(p string) []string {
	var steps []string
	for p != "" {
		n := 1
		switch p[0] {
		case '<':
			n = strings.IndexByte(p, '>') + 1
		case '[', '(', '{':
			n = strings.IndexAny(p, "])}") + 1
		case '.', '~', '#':
			for n < len(p) && strings.IndexByte(".[*(@{~#<", p[n]) < 0 {
				n++
			}
		}
		steps = append(steps, p[:n])
		p = p[n:]
	}
	return steps
}

type set map[thing]struct{}

// A place is where something is kept.
type place struct {
	kind  string
	r     *root  // of kind "input": the input
	path  string // and the path in it
	instr ssa.Instruction
	where string
	name  string // of the variable
	lent  bool   // the report belongs to where, in a function called here
	pos   int
	joins []thing
	strm  bool
}

// state is what is known before an instruction. It only grows when states are joined.
type state struct {
	mem      map[*root]map[string]set
	released map[thing]map[ssa.Instruction]bool
	escaped  map[*root]map[*place]string // local objects that are kept; the path within the place
	kept     map[*root]map[*place]thing  // objects of pools that are kept
	defers   map[*ssa.Defer]bool
	fuel     *int // work that may still be done for the function
}

func newState(fuel *int) *state {
	return &state{map[*root]map[string]set{}, map[thing]map[ssa.Instruction]bool{}, map[*root]map[*place]string{}, map[*root]map[*place]thing{}, map[*ssa.Defer]bool{}, fuel}
}

// clone copies s, which costs fuel for all that is copied.
func (s *state) clone() *state {
	c := newState(s.fuel)
	for r, m := range s.mem {
		n := make(map[string]set, len(m))
		for p, x := range m {
			n[p] = cloned(x, s.fuel)
		}
		c.mem[r] = n
	}
	for t, m := range s.released {
		c.released[t] = cloned(m, s.fuel)
	}
	for r, m := range s.escaped {
		c.escaped[r] = cloned(m, s.fuel)
	}
	for r, m := range s.kept {
		c.kept[r] = cloned(m, s.fuel)
	}
	c.defers = cloned(s.defers, s.fuel)
	return c
}

// cloned copies m. Without fuel the copy isn't used any more, and is empty.
func cloned[M ~map[K]V, K comparable, V any](m M, fuel *int) M {
	if *fuel -= 1 + len(m)/cheapCopies; *fuel < 0 {
		return M{}
	}
	return maps.Clone(m)
}

// cheapCopies is how many entries of a map are copied for one unit of fuel.
const cheapCopies = 4

// join adds what o knows to s and says whether s grew.
func (s *state) join(o *state) bool {
	grew := false
	for r, m := range o.mem {
		mine := s.mem[r]
		if mine == nil {
			mine = map[string]set{}
			s.mem[r] = mine
		}
		for p, x := range m {
			y := mine[p]
			if y == nil {
				y = set{}
				mine[p] = y
				grew = true
				if r.kind == kParam || r.kind == kGlobal {
					y[thing{r: r, path: p}] = struct{}{}
				}
			}
			for t := range x {
				if _, ok := y[t]; !ok {
					y[t] = struct{}{}
					grew = true
				}
			}
		}
	}
	for r, m := range s.mem {
		if r.kind != kParam && r.kind != kGlobal {
			continue
		}
		for p, x := range m {
			if _, ok := o.mem[r][p]; ok {
				continue
			}
			init := thing{r: r, path: p}
			if _, ok := x[init]; !ok {
				x[init] = struct{}{}
				grew = true
			}
		}
	}
	for t, m := range o.released {
		if s.released[t] == nil {
			s.released[t] = map[ssa.Instruction]bool{}
		}
		for i := range m {
			if !s.released[t][i] {
				s.released[t][i] = true
				grew = true
			}
		}
	}
	for r, m := range o.escaped {
		if s.escaped[r] == nil {
			s.escaped[r] = map[*place]string{}
		}
		for p, x := range m {
			if _, ok := s.escaped[r][p]; !ok {
				s.escaped[r][p] = x
				grew = true
			}
		}
	}
	for r, m := range o.kept {
		if s.kept[r] == nil {
			s.kept[r] = map[*place]thing{}
		}
		for p, x := range m {
			if _, ok := s.kept[r][p]; !ok {
				s.kept[r][p] = x
				grew = true
			}
		}
	}
	for d := range o.defers {
		if !s.defers[d] {
			s.defers[d] = true
			grew = true
		}
	}
	return grew
}

// put stores t at a place.
func (s *state) put(at thing, sub string, t thing) {
	m := s.mem[at.r]
	if m == nil {
		m = map[string]set{}
		s.mem[at.r] = m
	}
	p := at.path + sub
	x := m[p]
	if x == nil {
		x = set{}
		m[p] = x
		if at.r.kind == kParam || at.r.kind == kGlobal {
			x[thing{r: at.r, path: p}] = struct{}{}
		}
	}
	x[t] = struct{}{}
}

// clear forgets what is stored at a place and below it.
func (s *state) clear(at thing) {
	m := s.mem[at.r]
	for p := range m {
		if under(p, at.path) {
			delete(m, p)
		}
	}
	if at.r.kind == kParam || at.r.kind == kGlobal {
		if m == nil {
			m = map[string]set{}
			s.mem[at.r] = m
		}
		m[at.path] = set{}
	}
}

// load returns what is stored at places.
func (s *state) load(at []thing) val {
	var v val
	for _, a := range at {
		if a.derived() {
			a.addr = false
			v = v.add("", a)
			continue
		}
		found := false
		for p, x := range s.mem[a.r] {
			if under(p, a.path) {
				sub := p[len(a.path):]
				if sub == "" {
					found = true
				}
				// keys of maps and what objects keep is no part of a value
				if sub != "" && sub[0] != '.' && sub[0] != '[' {
					continue
				}
				for t := range x {
					v = v.add(sub, t)
				}
			}
		}
		if (a.r.kind == kParam || a.r.kind == kGlobal || a.r.kind == kAcquire) && !found {
			v = v.add("", thing{r: a.r, path: a.path, src: a.src})
		}
	}
	return v
}

// reach returns all that can be reached from v.
func (s *state) reach(v val, closure func(*root) []thing) []thing {
	var out []thing
	seen := set{}
	var todo []thing
	for x := range v {
		todo = append(todo, x.t)
	}
	for len(todo) > 0 && *s.fuel > 0 {
		*s.fuel--
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, ok := seen[t]; ok {
			continue
		}
		seen[t] = struct{}{}
		out = append(out, t)
		if t.derived() {
			continue
		}
		if t.r.clo != nil && t.path == "" {
			todo = append(todo, closure(t.r)...)
			continue
		}
		for p, x := range s.mem[t.r] {
			if under(p, t.path) && !strings.Contains(p[len(t.path):], "~v") {
				for u := range x {
					todo = append(todo, u)
				}
			}
		}
	}
	return out
}

// A closure is a function and what it captures.
type closure struct {
	fn    *ssa.Function // nil if only its summary is known
	sum   *Summary
	bound bool // a method value: what it captures is the receiver
	binds []val
}
