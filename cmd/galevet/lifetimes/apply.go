package lifetimes

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// applySummary does what a function does that has a summary.
func (in *interp) applySummary(st *state, instr ssa.Instruction, s *Summary, fn *ssa.Function, actuals []val) val {
	_, isGo := instr.(*ssa.Go)
	local := fn != nil && in.p.fns[fn] != nil
	// results first: they are made of what is there before
	out := in.makeResults(st, instr, s, fn, actuals)
	for _, r := range s.Clears {
		v := in.resolve(st, r, actuals)
		for x := range v {
			in.cleared(instr, x.t)
			if len(v) == 1 && single(x.t.path) && !isGo && x.t.r.kind != kGlobal {
				st.clear(x.t)
			}
		}
	}
	for _, f := range s.Flows {
		if f.Result >= 0 {
			continue
		}
		v := in.resolve(st, f.From, actuals)
		if len(v) == 0 {
			continue
		}
		to := f.To
		to.Addr = true
		h := how{stream: f.Stream}
		if local && (f.lent || fn.Parent() != nil) {
			h.pos, h.lent = f.pos, true
		}
		var at []thing
		for x := range in.resolve(st, to, actuals) {
			if x.sub == "" {
				at = append(at, x.t)
			}
		}
		if f.Stream {
			in.streamTo(st, instr, at, v, h)
			continue
		}
		in.storeTo(st, at, v, instr, h)
	}
	for _, e := range s.Escapes {
		v := in.resolve(st, e.From, actuals)
		if len(v) == 0 || e.reported {
			continue
		}
		if sv, ok := instr.(ssa.Value); ok && e.Held && sv.Referrers() != nil && len(*sv.Referrers()) > 0 {
			continue
		}
		if b := e.From.Base; b >= 0 && b < len(in.argTypes) && slices.Contains(e.Not, in.argTypes[b]) {
			continue
		}
		pos := token.NoPos
		if local && (e.lent || fn.Parent() != nil) {
			pos = e.pos
		}
		pl := in.place(instr, e.Kind, nil, "", pos)
		pl.lent, pl.name = pos.IsValid(), e.Name
		if pl.where == "" {
			pl.where = e.Where
		}
		for _, j := range e.Joins {
			for x := range in.resolve(st, j, actuals) {
				pl.joins = mergeThings(pl.joins, []thing{x.t})
			}
		}
		for x := range v {
			if t := valueUse(e.From, x.t); t != x.t {
				in.emitOne(st, t, pl, true)
				continue
			}
			in.emit(st, one(x.t), pl)
		}
	}
	for _, d := range s.Calls {
		f := in.resolve(st, d.Func, actuals)
		if len(f) == 0 {
			continue
		}
		args := make([]val, len(d.Args))
		for i, refs := range d.Args {
			for _, r := range refs {
				args[i] = args[i].addAll(in.resolve(st, r, actuals))
			}
		}
		var sig *types.Signature
		in.callValue(st, instr, f, nil, args, sig)
	}
	signals, waits := set{}, set{}
	for _, r := range s.Signals {
		for x := range in.resolve(st, r, actuals) {
			signals[x.t] = struct{}{}
		}
	}
	for _, r := range s.Waits {
		for x := range in.resolve(st, r, actuals) {
			waits[x.t] = struct{}{}
		}
	}
	if isGo {
		in.links[instr] = &link{waits, signals}
		var joins []thing
		for t := range signals {
			joins = append(joins, t)
		}
		pl := in.place(instr, "goroutine", nil, "", token.NoPos)
		pl.joins = mergeThings(pl.joins, joins)
		for _, u := range s.Uses {
			for x := range in.resolve(st, u, actuals) {
				t := valueUse(u, x.t)
				if u.Deep {
					in.emit(st, one(t), pl)
				}
				in.emitOne(st, t, pl, t != x.t)
			}
		}
	} else {
		for t := range signals {
			in.signals[t] = struct{}{}
		}
		if len(waits) > 0 {
			m := in.waitAt[instr]
			if m == nil {
				m = set{}
				in.waitAt[instr] = m
			}
			for t := range waits {
				m[t] = struct{}{}
			}
		}
		for _, r := range s.MayWait {
			m := in.mayAt[instr]
			if m == nil {
				m = set{}
				in.mayAt[instr] = m
			}
			for x := range in.resolve(st, r, actuals) {
				m[x.t] = struct{}{}
			}
		}
		for _, u := range s.Uses {
			for x := range in.resolve(st, u, actuals) {
				in.useThing(st, instr, x.t, u.Deep)
				if u.Value && x.t.r.kind == kParam {
					in.uses[Ref{Base: x.t.r.base, Path: x.t.path, Addr: x.t.addr, Value: true}] = true
				}
			}
		}
		for _, r := range s.Detaches {
			in.detach(instr, in.resolve(st, r, actuals))
		}
	}
	for _, r := range s.Releases {
		v := in.resolve(st, r.What, actuals)
		if r.Func == "Put" && r.Must {
			in.poolLent(st, instr, v)
		}
		in.release(st, instr, v, r.Func, r.Must)
	}
	return out
}

// detach notes that the requests in v leave their pool.
func (in *interp) detach(instr ssa.Instruction, v val) {
	m := in.detachAt[instr]
	if m == nil {
		m = map[*root]bool{}
		in.detachAt[instr] = m
	}
	for x := range v {
		m[x.t.r] = true
	}
}

// closureMade does what a closure does to what it captures, even if it is never called: what it keeps
// is kept.
func (in *interp) closureMade(st *state, i *ssa.MakeClosure) {
	fn, actuals := in.closureTarget(i)
	if fn == nil || fn != i.Fn.(*ssa.Function) || in.p.fns[fn] == nil {
		return
	}
	s := in.p.summaryOf(fn)
	if s == nil {
		return
	}
	all := append(make([]val, len(fn.Params)), actuals...)
	for _, e := range s.Escapes {
		if e.reported || e.From.Base < len(fn.Params) {
			continue
		}
		pos := token.NoPos
		if e.pos.IsValid() {
			pos = e.pos
		}
		pl := in.place(i, e.Kind, nil, "", pos)
		pl.lent, pl.name = pos.IsValid(), e.Name
		for _, j := range e.Joins {
			for x := range in.resolve(st, j, all) {
				pl.joins = mergeThings(pl.joins, []thing{x.t})
			}
		}
		for x := range in.resolve(st, e.From, all) {
			if t := valueUse(e.From, x.t); t != x.t {
				in.emitOne(st, t, pl, true)
				continue
			}
			in.emit(st, one(x.t), pl)
		}
	}
}

// cleared notes that a place is emptied.
func (in *interp) cleared(instr ssa.Instruction, at thing) {
	m := in.clears[instr]
	if m == nil {
		m = set{}
		in.clears[instr] = m
	}
	at.addr, at.src = true, nil
	m[at] = struct{}{}
}
