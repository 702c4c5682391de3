package lifetimes

import (
	"go/token"

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
		if len(t.r.lent) > 0 || t.derived() {
			in.lentUses[instr] = true
		}
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
	in.fuel -= 1 + len(rel)/cheapCopies
	for r := range rel {
		u.rel[r] = true
	}
}

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
