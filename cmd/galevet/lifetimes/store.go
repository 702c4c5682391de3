package lifetimes

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// how says in what way something is stored.
type how struct {
	strong  bool // it replaces what was there
	key     bool
	channel bool
	stream  bool
	pos     token.Pos // where, if it isn't the instruction
	lent    bool      // pos is in a function called here, which has the context
}

// storeTo stores v at places.
func (in *interp) storeTo(st *state, at []thing, v val, instr ssa.Instruction, h how) {
	if len(v) == 0 {
		if _, ok := instr.(*ssa.Store); ok {
			for _, t := range at {
				if single(t.path) {
					in.cleared(instr, t)
				}
			}
		}
		if h.strong && len(at) == 1 && at[0].r.kind != kGlobal && !at[0].derived() && single(at[0].path) {
			st.clear(at[0])
		}
		return
	}
	in.fuel -= len(at) * len(v)
	for _, t := range at {
		if t.derived() || in.fuel < 0 {
			continue
		}
		if _, ok := st.isReleased(t); ok {
			in.use(st, instr, one(t), false)
		}
		switch t.r.kind {
		case kAlloc, kAcquire:
			if h.strong && len(at) == 1 && single(t.path) {
				st.clear(t)
			}
			for x := range v {
				st.put(t, x.sub, x.t)
			}
			for pl, path := range st.escaped[t.r] {
				in.emit(st, v, in.placeLike(pl, instr, path, h))
			}
		case kGlobal:
			for x := range v {
				st.put(t, x.sub, x.t)
			}
			kind := "global"
			if h.channel {
				kind = "channel"
			}
			pl := in.place(instr, kind, t.r, t.path, h.pos)
			pl.lent = h.lent
			if h.channel {
				pl.joins = mergeThings(pl.joins, in.channelsIn(st, v))
			}
			in.emit(st, v, pl)
		case kParam:
			if h.strong && len(at) == 1 && single(t.path) {
				st.clear(t)
			}
			for x := range v {
				st.put(t, x.sub, x.t)
				kind := "input"
				if h.channel {
					kind = "input-channel"
				}
				pl := in.place(instr, kind, t.r, t.path+x.sub, h.pos)
				pl.lent, pl.strm = h.lent, h.stream
				in.emit(st, one(x.t), pl)
			}
		}
	}
}

// single says whether a path names one place, not all elements of something.
func single(path string) bool {
	for i := range len(path) {
		if path[i] == '[' {
			return false
		}
	}
	return true
}

func (in *interp) placeLike(pl *place, instr ssa.Instruction, path string, h how) *place {
	q := in.place(instr, pl.kind, pl.r, pl.path, h.pos)
	q.joins, q.lent, q.strm = pl.joins, h.lent, pl.strm
	return q
}

// emit notes that all of v is kept at pl.
func (in *interp) emit(st *state, v val, pl *place) {
	for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
		in.emitOne(st, t, pl, false)
	}
}

func (in *interp) emitOne(st *state, t thing, pl *place, value bool) {
	switch t.r.kind {
	case kAlloc:
		if pl.r == t.r || t.r.fn != nil {
			return
		}
		if t.r.typed.kind != "" || !t.derived() {
			m := st.escaped[t.r]
			if m == nil {
				m = map[*place]string{}
				st.escaped[t.r] = m
			}
			m[pl] = ""
		}
		in.keptPooled(st, t, pl)
	case kAcquire:
		if pl.r == t.r {
			return
		}
		m := st.escaped[t.r]
		if m == nil {
			m = map[*place]string{}
			st.escaped[t.r] = m
		}
		m[pl] = ""
		in.keptPooled(st, t, pl)
	case kParam:
		if pl.r == t.r {
			return
		}
		k := candKey{pl, t}
		c := in.cands[k]
		if c == nil {
			c = &cand{pl: pl, t: t}
			in.cands[k] = c
		}
		c.value = c.value || value
		in.keptPooled(st, t, pl)
	}
}

// keptPooled notes that something that may be released is kept.
func (in *interp) keptPooled(st *state, t thing, pl *place) {
	m := st.kept[t.r]
	if m == nil {
		m = map[*place]thing{}
		st.kept[t.r] = m
	}
	m[pl] = t
}

// isReleased returns the release that t's memory went with.
func (s *state) isReleased(t thing) (map[ssa.Instruction]bool, bool) {
	for l, m := range s.released {
		if l.r == t.r && under(t.path, l.path) && len(m) > 0 {
			return m, true
		}
	}
	return nil, false
}

// use notes that instr reads v, and with deep all that can be reached from it.
func (in *interp) use(st *state, instr ssa.Instruction, v val, deep bool) {
	if len(v) == 0 {
		return
	}
	if !deep {
		for x := range v {
			in.useThing(st, instr, x.t, false)
		}
		return
	}
	for x := range v {
		in.useThing(st, instr, x.t, true)
	}
	for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
		in.useThing(st, instr, t, false)
	}
}

func (in *interp) useLocs(st *state, instr ssa.Instruction, at []thing) {
	for _, t := range at {
		t.addr = true
		in.useThing(st, instr, t, false)
	}
}

func (in *interp) useDerived(st *state, instr ssa.Instruction, at []thing) {
	for _, t := range at {
		if t.derived() {
			in.useThing(st, instr, t, false)
		}
	}
}

func (in *interp) useThing(st *state, instr ssa.Instruction, t thing, deep bool) {
	if t.r.kind == kParam {
		in.uses[Ref{Base: t.r.base, Path: t.path, Addr: t.addr, Deep: deep}] = true
	}
	if m, ok := st.isReleased(t); ok {
		in.lateAt(instr, "use", t, m, nil)
	}
}

func (in *interp) lateAt(instr ssa.Instruction, kind string, t thing, rel map[ssa.Instruction]bool, pl *place) {
	k := lateKey{instr, kind, t.r}
	u := in.late[k]
	if u == nil {
		u = &lateUse{kind: kind, instr: instr, t: t, pl: pl, rel: map[ssa.Instruction]bool{}}
		in.late[k] = u
	}
	for r := range rel {
		u.rel[r] = true
	}
}

// summaryOfClosure returns the summary of a closure, and what its inputs are with args: the
// parameters come first, or after the receiver of a method value.
func (in *interp) summaryOfClosure(c *closure, args []val) (*Summary, []val, int) {
	sum := c.sum
	if c.fn != nil {
		sum = in.p.summaryOf(c.fn)
	}
	if sum == nil {
		return nil, nil, 0
	}
	if c.bound {
		return sum, append(c.binds[:len(c.binds):len(c.binds)], args...), 0
	}
	n := sum.Params
	full := make([]val, n, n+len(c.binds))
	copy(full, args)
	return sum, append(full, c.binds...), n
}

// closureUses returns what a closure uses of what it captures.
func (in *interp) closureUses(st *state, r *root) []thing {
	sum, actuals, off := in.summaryOfClosure(r.clo, nil)
	var out []thing
	if sum == nil {
		for _, a := range r.clo.binds {
			for x := range a {
				out = append(out, x.t)
			}
		}
		return out
	}
	for _, u := range sum.Uses {
		if u.Global != "" || u.Base < off || u.Base >= len(actuals) || r.clo.bound && u.Base >= len(r.clo.binds) {
			continue
		}
		for x := range in.resolve(st, u, actuals) {
			if t := valueUse(u, x.t); t.r != nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// valueUse turns a derived context whose values are read into the context itself.
func valueUse(u Ref, t thing) thing {
	if u.Value && len(t.path) >= 3 && t.path[len(t.path)-3:] == "(c)" {
		t.path = t.path[:len(t.path)-3]
	}
	return t
}

// closureTarget returns the function that a closure runs, and its captured values.
func (in *interp) closureTarget(mc *ssa.MakeClosure) (*ssa.Function, []val) {
	fn := mc.Fn.(*ssa.Function)
	var actuals []val
	for _, b := range mc.Bindings {
		actuals = append(actuals, in.get(b))
	}
	if m := in.p.boundMethod(fn); m != nil {
		return m, actuals
	}
	return fn, actuals
}

// returns notes what goes to the caller.
func (in *interp) returns(st *state, i *ssa.Return) {
	for k, res := range i.Results {
		if !canHold(res.Type()) {
			continue
		}
		v := in.get(res)
		if len(v) == 0 {
			continue
		}
		for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
			if isError(res.Type()) {
				break // errors are made for it
			}
			in.returned[t.r] = true
			if m, ok := st.isReleased(t); ok {
				in.lateAt(i, "return", t, m, nil)
			}
			if t.r.kind == kAcquire || t.r.kind == kAlloc {
				in.keptPooled(st, t, in.place(i, "return", nil, "", 0))
			}
		}
		for x := range v {
			in.result(st, k, x.sub, x.t, 0)
		}
	}
}

func (in *interp) result(st *state, k int, sub string, t thing, depth int) {
	if depth > 4 || len(sub) > 60 {
		return
	}
	switch t.r.kind {
	case kParam:
		in.results[Flow{From: Ref{Base: t.r.base, Path: t.path, Addr: t.addr}, Result: k, Sub: sub}] = true
	case kGlobal:
		in.results[Flow{From: Ref{Base: -1, Global: t.r.name, Path: t.path, Addr: t.addr}, Result: k, Sub: sub}] = true
	case kAcquire:
		if t.path == "" {
			in.acquires[Acquire{Result: k, Sub: sub, Func: t.r.pool}] = true
			for p, x := range st.mem[t.r] {
				for u := range x {
					if u.r != t.r {
						in.result(st, k, sub+p, u, depth+1)
					}
				}
			}
		}
	case kAlloc:
		if t.r.clo != nil {
			in.closureResult(st, k, sub, t.r, depth)
			return
		}
		pre := ""
		if t.addr && !isElem(t.r) {
			pre = "*"
		}
		for p, x := range st.mem[t.r] {
			if !under(p, t.path) {
				continue
			}
			for u := range x {
				if u.r != t.r {
					in.result(st, k, sub+pre+p[len(t.path):], u, depth+1)
				}
			}
		}
	}
}

// isElem says whether an object is a slice, map or channel, whose elements need no pointer.
func isElem(r *root) bool {
	if r.val == nil {
		return false
	}
	switch r.val.(type) {
	case *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice:
		return true
	}
	switch u := r.val.Type().Underlying().(type) {
	case *types.Pointer:
		_, ok := u.Elem().Underlying().(*types.Array)
		return ok
	case *types.Slice, *types.Map, *types.Chan:
		return true
	}
	return false
}

// resolve returns what a Ref of a function is for a call with actuals.
func (in *interp) resolve(st *state, ref Ref, actuals []val) val {
	var v val
	if ref.Global != "" {
		v = one(thing{r: in.globalNamed(ref.Global), path: "", addr: true})
		if ref.Path == "" && !ref.Addr {
			return st.load(deref(v))
		}
		// paths of globals begin at the variable
		return in.walk(st, nil, deref(v), ref)
	}
	if ref.Base < 0 || ref.Base >= len(actuals) {
		return nil
	}
	if strings.HasPrefix(ref.Path, "<") && ref.Base < len(in.argTypes) && in.argTypes[ref.Base] != "" {
		n := strings.IndexByte(ref.Path, '>')
		if in.argTypes[ref.Base] != ref.Path[1:n] {
			return nil
		}
	}
	return in.walk(st, actuals[ref.Base], nil, ref)
}

func (in *interp) globalNamed(name string) *root {
	for k, r := range in.roots {
		if r.kind == kGlobal && r.name == name && k.n == 0 {
			return r
		}
	}
	r := &root{kind: kGlobal, name: name, long: true}
	in.roots[rootKey{nil, len(in.roots) + 1000}] = r
	return r
}

// walk follows ref's path from the value v, or from places.
func (in *interp) walk(st *state, v val, at []thing, ref Ref) val {
	loc := at != nil
	steps := splitPath(ref.Path)
	for n, s := range steps {
		switch s {
		case "*":
			if loc {
				v = st.load(at)
			}
			at, loc = deref(v), true
		case "[]", "[k]":
			if loc {
				next := elem(st.load(at), s)
				for _, t := range at {
					next = append(next, t.extend(s))
				}
				at = next
			} else {
				at = elem(v, s)
				loc = true
			}
		case "()", "(s)", "(c)", "@":
			if loc {
				w := st.load(at)
				v = nil
				for x := range w {
					v = v.add(x.sub, x.t)
				}
				for _, t := range at {
					v = v.add("", t)
				}
			}
			v, loc = derive(v, s, nil), false
		case "<[]byte>", "<string>":
		case "#send":
			if loc {
				v, loc = st.load(at), false
			}
			var w val
			for x := range v {
				x.t.path += "#send"
				w = w.add(x.sub, x.t)
			}
			v = w
		case "{}":
			return in.captured(st, v, at, loc)
		default:
			if loc {
				next := make([]thing, 0, len(at))
				for _, t := range at {
					next = append(next, t.extend(s))
				}
				at = next
			} else {
				// a field of a struct value
				var w val
				for x := range v {
					if under(x.sub, s) {
						w = w.add(x.sub[len(s):], x.t)
					} else if x.sub == "" {
						t := x.t.extend(s)
						t.addr = x.t.addr
						w = w.add("", t)
					}
				}
				v = w
			}
		}
		_ = n
	}
	if !loc {
		return v
	}
	if ref.Addr {
		var w val
		for _, t := range at {
			w = w.add("", t)
		}
		return w
	}
	return st.load(at)
}

func (in *interp) captured(st *state, v val, at []thing, loc bool) val {
	if loc {
		v = st.load(at)
	}
	var w val
	for _, t := range st.reach(v, func(r *root) []thing { return in.closureUses(st, r) }) {
		w = w.add("", t)
	}
	return w
}

// derive returns what accessors of the owners in v return.
func derive(v val, step string, src ssa.Value) val {
	var out val
	for x := range v {
		if x.sub != "" {
			continue
		}
		t := x.t
		if !t.derived() {
			t = t.extend(step)
			t.addr = false
		}
		if src != nil {
			t.src = src
		}
		out = out.add("", t)
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

// channelsIn returns channels and wait groups that are part of v: who gets v may signal
// with them that it is done.
func (in *interp) channelsIn(st *state, v val) []thing {
	var out []thing
	for _, t := range st.reach(v, func(r *root) []thing { return nil }) {
		if t.r.kind != kAlloc || t.r.val == nil {
			continue
		}
		if _, ok := t.r.val.(*ssa.MakeChan); ok || typeKey(t.r.val.Type()) == "sync.WaitGroup" {
			out = append(out, t)
		}
	}
	return out
}

// closureResult notes that a closure is returned.
func (in *interp) closureResult(st *state, k int, sub string, r *root, depth int) {
	for _, u := range in.closureUses(st, r) {
		in.result(st, k, sub+"{}", u, depth+1)
	}
	if depth > 1 || in.closures[r] != nil {
		return
	}
	c := &Closure{Result: k, Sub: sub, Bound: r.clo.bound, Sum: r.clo.sum}
	if r.clo.fn != nil {
		c.fn = &funcRef{r.clo.fn}
		c.Sum = in.p.summaryOf(r.clo.fn)
	}
	if c.Sum == nil {
		return
	}
	in.closures[r] = c
	// what it captures is described as results are
	saved, acq := in.results, in.acquires
	in.results, in.acquires = map[Flow]bool{}, map[Acquire]bool{}
	for n, b := range r.clo.binds {
		for x := range b {
			in.result(st, n, x.sub, x.t, depth+2)
		}
	}
	for f := range in.results {
		c.Binds = append(c.Binds, f)
	}
	sortFlows(c.Binds)
	in.results, in.acquires = saved, acq
}
