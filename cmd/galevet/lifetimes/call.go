package lifetimes

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// call follows a call, a go statement or a deferred call that runs now.
func (in *interp) call(st *state, instr ssa.Instruction, c *ssa.CallCommon) val {
	args := make([]val, len(c.Args))
	for i, a := range c.Args {
		args[i] = in.get(a)
	}
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return in.builtin(st, instr, b, c, args)
	}
	if c.IsInvoke() {
		return in.invoke(st, instr, c, args)
	}
	if fn := c.StaticCallee(); fn != nil {
		actuals := args
		if mc, ok := c.Value.(*ssa.MakeClosure); ok {
			target, bound := in.closureTarget(mc)
			if target != fn {
				return in.callFunc(st, instr, target, append(bound, args...), c)
			}
			actuals = append(args[:len(args):len(args)], bound...)
		}
		return in.callFunc(st, instr, fn, actuals, c)
	}
	in.use(st, instr, in.get(c.Value), false)
	return in.callValue(st, instr, in.get(c.Value), c.Value, args, c.Signature())
}

// unknown notes a call of a function that isn't known.
func (in *interp) unknown(st *state, instr ssa.Instruction, args []val) {
	for _, a := range args {
		in.use(st, instr, a, true)
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, args, nil, nil)
	}
}

// invoke calls a method of an interface.
func (in *interp) invoke(st *state, instr ssa.Instruction, c *ssa.CallCommon, args []val) val {
	recv := in.get(c.Value)
	actuals := append([]val{recv}, args...)
	key := funcKeyIn(c.Value.Type(), c.Method)
	if e, ok := in.p.entry(key); ok {
		return in.applyTable(st, instr, e, c.Method, actuals, c)
	}
	if o, ok := in.p.ownerOf(c.Value.Type()); ok {
		return in.ownerMethod(st, instr, o, c.Method, actuals)
	}
	if typeKey(c.Value.Type()) == "context.Context" {
		return in.contextMethod(st, instr, c, recv, actuals)
	}
	targets, sure := in.p.implementations(c.Value, c.Method, recv)
	if len(targets) > 0 {
		if !sure && !in.allKeep(targets) {
			in.unknown(st, instr, actuals)
			return nil
		}
		var out val
		for _, fn := range targets {
			out = out.addAll(in.callFunc(st, instr, fn, actuals, nil))
		}
		return out
	}
	in.use(st, instr, recv, false)
	in.unknown(st, instr, actuals)
	return nil
}

func funcKeyIn(typ types.Type, m *types.Func) string {
	k := typeKey(typ)
	if k == "" {
		return ""
	}
	return k + "." + m.Name()
}

// allKeep says whether each of several methods keeps something.
func (in *interp) allKeep(fns []*ssa.Function) bool {
	for _, fn := range fns {
		s := in.p.summaryOf(fn)
		if s == nil {
			return false
		}
		keeps := len(s.Escapes) > 0
		for _, f := range s.Flows {
			keeps = keeps || f.Result < 0
		}
		if !keeps && len(fns) > 1 {
			return false
		}
	}
	return true
}

// contextMethod calls a method of a context.Context. What context.WithCancel and the like
// return uses the parent for its values only.
func (in *interp) contextMethod(st *state, instr ssa.Instruction, c *ssa.CallCommon, recv val, actuals []val) val {
	for x := range recv {
		in.useThing(st, instr, x.t, false)
		if x.t.r.kind == kParam && c.Method.Name() == "Value" {
			in.uses[Ref{Base: x.t.r.base, Path: x.t.path, Addr: x.t.addr, Value: true}] = true
		}
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, actuals, nil, nil)
	}
	if c.Method.Name() == "Done" {
		// waiting for a context ends when its cancel function was called
		return derive(recv, "#done", nil)
	}
	return nil
}

// callFunc calls fn, which is known.
func (in *interp) callFunc(st *state, instr ssa.Instruction, fn *ssa.Function, actuals []val, c *ssa.CallCommon) val {
	if fn == nil {
		in.unknown(st, instr, actuals)
		return nil
	}
	origin := fn
	if o := fn.Origin(); o != nil {
		origin = o
	}
	obj, _ := origin.Object().(*types.Func)
	if obj != nil {
		if e, ok := in.p.entry(funcKey(obj)); ok {
			return in.applyTable(st, instr, e, obj, actuals, c)
		}
		if recv := obj.Type().(*types.Signature).Recv(); recv != nil {
			if o, ok := in.p.ownerOf(recv.Type()); ok && !in.p.declaredHere(recv.Type()) {
				return in.ownerMethod(st, instr, o, obj, actuals)
			}
		}
	}
	if s := in.p.summaryOf(origin); s != nil {
		saved := in.argTypes
		in.argTypes = nil
		if c != nil && !c.IsInvoke() {
			for _, a := range c.Args {
				in.argTypes = append(in.argTypes, dynamicType(a))
			}
		}
		out := in.applySummary(st, instr, s, origin, actuals)
		in.argTypes = saved
		return out
	}
	if obj != nil && obj.Pkg() != nil && in.p.isStd(obj.Pkg().Path()) {
		return in.applyStd(st, instr, actuals)
	}
	in.unknown(st, instr, actuals)
	return nil
}

// applyStd calls a function of the standard library that no table describes: functions that
// it gets are called at once, with parts of the other arguments.
func (in *interp) applyStd(st *state, instr ssa.Instruction, actuals []val) val {
	var parts val
	for _, a := range actuals {
		in.use(st, instr, a, true)
		parts = parts.addAll(copyVal(a))
		parts = parts.addAll(st.load(elem(a, "[]")))
	}
	for _, a := range actuals {
		in.callback(st, instr, a, parts)
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, actuals, nil, nil)
	}
	return nil
}

// toGoroutine notes that a goroutine uses some things. It is over when one of joins was
// waited for.
func (in *interp) toGoroutine(st *state, instr ssa.Instruction, vals []val, things []thing, joins []thing) {
	in.toPlace(st, instr, "goroutine", vals, things, joins)
}

func (in *interp) toPlace(st *state, instr ssa.Instruction, kind string, vals []val, things []thing, joins []thing) {
	pl := in.place(instr, kind, nil, "", token.NoPos)
	pl.joins = mergeThings(pl.joins, joins)
	for _, v := range vals {
		in.emit(st, v, pl)
	}
	for _, t := range things {
		in.emitOne(st, t, pl, false)
	}
}

func mergeThings(a, b []thing) []thing {
	for _, t := range b {
		found := false
		for _, u := range a {
			found = found || t == u
		}
		if !found {
			a = append(a, t)
		}
	}
	return a
}

// dynamicType returns the type of the value in an interface, if it is certain.
func dynamicType(v ssa.Value) string {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		return types.TypeString(mi.X.Type(), nil)
	}
	return ""
}
