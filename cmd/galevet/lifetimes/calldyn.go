package lifetimes

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// callValue calls what a function value may be.
func (in *interp) callValue(st *state, instr ssa.Instruction, f val, expr ssa.Value, args []val, sig *types.Signature) val {
	if in.fuel -= 10; in.depth > 6 || in.fuel < 0 {
		return nil // as many calls as there are functions, for each call, soon are too many
	}
	in.depth++
	defer func() { in.depth-- }()
	var out val
	resolved := false
	for x := range f {
		if x.sub != "" {
			continue
		}
		t := x.t
		switch {
		case t.r.clo != nil && t.path == "":
			resolved = true
			out = out.addAll(in.callClosure(st, instr, t.r.clo, args))
		case t.r.fn != nil && t.path == "":
			resolved = true
			out = out.addAll(in.callFunc(st, instr, t.r.fn, args, nil))
		case t.derived():
			// a sequence: it calls yield with parts of what it comes from
			resolved = true
			for _, a := range args {
				in.callback(st, instr, a, one(t))
			}
		case t.r.kind == kParam:
			in.dynCall(st, t, args)
			for _, a := range args {
				in.use(st, instr, a, true)
			}
			if _, ok := instr.(*ssa.Go); ok {
				in.toGoroutine(st, instr, []val{one(t)}, nil, nil)
			}
			if isSeq(sig) {
				for _, a := range args {
					in.callback(st, instr, a, st.load(elem(one(t), "[]")))
				}
			}
		case t.r.kind == kAlloc && isSeq(sig):
			resolved = true
			for _, a := range args {
				in.callback(st, instr, a, st.load([]thing{t.extend("[]")}))
			}
		}
	}
	if !resolved && expr != nil {
		for _, fn := range in.p.funcsIn(expr) {
			resolved = true
			if fn.Signature.Recv() == nil && len(fn.FreeVars) == 1 && fn.Synthetic != "" {
				if m := in.p.boundMethod(fn); m != nil {
					out = out.addAll(in.callFunc(st, instr, m, append([]val{nil}, args...), nil))
				}
				continue
			}
			out = out.addAll(in.callFunc(st, instr, fn, args, nil))
		}
	}
	if !resolved {
		in.unknown(st, instr, args)
	}
	return out
}

// isSeq says whether a function is an iter.Seq: its parameter is a function that returns bool.
func isSeq(sig *types.Signature) bool {
	if sig == nil || sig.Params().Len() != 1 || sig.Results().Len() != 0 {
		return false
	}
	y, ok := sig.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && y.Results().Len() == 1
}

// callback calls the function f, whose arguments are all v.
func (in *interp) callback(st *state, instr ssa.Instruction, f, v val) val {
	var out val
	for x := range f {
		t := x.t
		if x.sub != "" {
			continue
		}
		var sig *types.Signature
		switch {
		case t.r.clo != nil && t.path == "":
			if t.r.clo.fn == nil {
				in.callClosure(st, instr, t.r.clo, []val{v, v, v})
				continue
			}
			sig = t.r.clo.fn.Signature
		case t.r.fn != nil && t.path == "":
			sig = t.r.fn.Signature
		case t.r.kind == kParam:
			args := []val{v, v, v}
			in.dynCall(st, t, args)
			continue
		default:
			continue
		}
		args := make([]val, sig.Params().Len())
		for i := range args {
			if canHold(sig.Params().At(i).Type()) {
				args[i] = v
			}
		}
		out = out.addAll(in.callValue(st, instr, one(t), nil, args, sig))
	}
	return out
}

// dynCall notes that an input is called.
func (in *interp) dynCall(st *state, f thing, args []val) {
	d := DynCall{Func: Ref{Base: f.r.base, Path: f.path, Addr: f.addr}}
	key := f.path + "|" + itoa(f.r.base)
	if old, ok := in.dyn[key]; ok {
		d = old
	} else {
		d.Args = make([][]Ref, len(args))
	}
	for i, a := range args {
		if i >= len(d.Args) {
			break
		}
		for _, t := range st.reach(a, func(*root) []thing { return nil }) {
			if t.r.kind != kParam || len(d.Args[i]) > 8 {
				continue
			}
			r := Ref{Base: t.r.base, Path: t.path, Addr: t.addr}
			found := false
			for _, o := range d.Args[i] {
				found = found || o == r
			}
			if !found {
				d.Args[i] = append(d.Args[i], r)
			}
		}
	}
	in.dyn[key] = d
}

// callClosure calls a closure.
func (in *interp) callClosure(st *state, instr ssa.Instruction, c *closure, args []val) val {
	if c.fn != nil {
		if c.bound {
			return in.callFunc(st, instr, c.fn, append(c.binds[:len(c.binds):len(c.binds)], args...), nil)
		}
		full := make([]val, len(c.fn.Params), len(c.fn.Params)+len(c.binds))
		copy(full, args)
		return in.callFunc(st, instr, c.fn, append(full, c.binds...), nil)
	}
	sum, actuals, _ := in.summaryOfClosure(c, args)
	if sum == nil {
		in.unknown(st, instr, args)
		return nil
	}
	return in.applySummary(st, instr, sum, nil, actuals)
}

// elems returns the elements of v: of a sequence what it yields.
func (in *interp) elems(st *state, v val) val {
	var out, rest val
	for x := range v {
		if x.sub != "" || x.t.r.clo == nil {
			rest = rest.add(x.sub, x.t)
			continue
		}
		sum, actuals, _ := in.summaryOfClosure(x.t.r.clo, nil)
		if sum == nil {
			continue
		}
		for _, d := range sum.Calls {
			if d.Func.Base != 0 {
				continue
			}
			for _, refs := range d.Args {
				for _, r := range refs {
					out = out.addAll(in.resolve(st, r, actuals))
				}
			}
		}
	}
	return out.addAll(st.load(elem(rest, "[]"))).addAll(st.load(elem(rest, "[k]")))
}
