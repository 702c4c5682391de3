package lifetimes

import (
	"golang.org/x/tools/go/ssa"
)

// release puts v back to its pool.
func (in *interp) release(st *state, instr ssa.Instruction, v val, fn string, must bool) {
	for x := range v {
		if x.sub != "" {
			continue
		}
		t := x.t
		t.src = nil
		if t.derived() && t.r.kind != kParam {
			continue
		}
		t.addr = t.r.kind == kAlloc
		if t.r.kind == kGlobal {
			continue
		}
		if t.r.kind == kParam {
			ref := Ref{Base: t.r.base, Path: t.path, Addr: t.addr}
			if in.relAt[ref] == nil {
				in.relAt[ref] = map[ssa.Instruction]bool{}
			}
			if must {
				in.relAt[ref][instr] = true
			}
			in.releases[ref] = &Release{What: ref, Func: fn}
			if in.lentThing(st, t, false) && (in.fi.reports && !t.r.free) {
				in.lateAt(instr, "lent", t, nil, nil)
				continue
			}
		}
		if m, ok := st.isReleased(t); ok {
			in.lateAt(instr, "double", t, m, nil)
		}
		if !must {
			continue
		}
		for pl, kt := range st.kept[t.r] {
			if !under(kt.path, t.path) {
				continue
			}
			if pl.kind == "return" {
				continue
			}
			in.lateAt(pl.instr, "kept", kt, map[ssa.Instruction]bool{instr: true}, pl)
		}
		m := st.released[t]
		if m == nil {
			m = map[ssa.Instruction]bool{}
			st.released[t] = m
		}
		m[instr] = true
	}
}

// poolLent reports lent bytes that go to a pool.
func (in *interp) poolLent(st *state, instr ssa.Instruction, v val) {
	pl := in.place(instr, "pool", nil, "", 0)
	for _, t := range st.reach(v, func(r *root) []thing { return nil }) {
		own := false
		for x := range v {
			own = own || x.t.r == t.r && !t.derived()
		}
		if t.r.kind == kParam && !own {
			in.emitOne(st, t, pl, false)
		}
	}
}

// sharedRaw looks for responses made of a variable that this function changes, so that the
// next request changes it while it is sent.
func (in *interp) sharedRaw(instr ssa.Instruction, to thing, v val) {
	if to.r.kind != kParam || !in.lentThing(nil, to, false) {
		return
	}
	for x := range v {
		if x.t.r.kind != kGlobal || x.t.path != "" {
			continue
		}
		for _, b := range in.fn.Blocks {
			for _, i := range b.Instrs {
				if s, ok := i.(*ssa.Store); ok {
					if g, ok := s.Addr.(*ssa.Global); ok && in.global(g) == x.t.r {
						in.lateAt(instr, "shared", x.t, map[ssa.Instruction]bool{i: true}, nil)
					}
				}
			}
		}
	}
}

// pooledOnly keeps of v what came from a pool. What it was made of isn't released with it.
func pooledOnly(v val) val {
	var out val
	for x := range v {
		if x.t.r.kind == kAcquire {
			out = out.add(x.sub, x.t)
		}
	}
	if out == nil && len(v) == 1 {
		return v
	}
	return out
}
