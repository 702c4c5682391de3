package lifetimes

import (
	"go/token"
	"go/types"
	"strings"

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

// deferred looks at what a defer statement evaluates at once.
func (in *interp) deferred(st *state, d *ssa.Defer) {}

// callValue calls what a function value may be.
func (in *interp) callValue(st *state, instr ssa.Instruction, f val, expr ssa.Value, args []val, sig *types.Signature) val {
	if in.depth > 6 {
		return nil
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
		case t.r.fn != nil:
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
		case t.r.fn != nil:
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

// unknown notes a call of a function that isn't known.
func (in *interp) unknown(st *state, instr ssa.Instruction, args []val) {
	for _, a := range args {
		in.use(st, instr, a, true)
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, args, nil, nil)
	}
}

func (in *interp) builtin(st *state, instr ssa.Instruction, b *ssa.Builtin, c *ssa.CallCommon, args []val) val {
	switch b.Name() {
	case "append":
		v, ok := instr.(ssa.Value)
		if !ok {
			return nil
		}
		typ := c.Args[0].Type()
		var out val
		if !elemHolds(typ) {
			in.use(st, instr, args[1], false)
			return copyVal(args[0])
		}
		r := in.root(v, 0, kAlloc)
		me := thing{r: r, addr: true}
		for _, t := range elem(args[0], "[]") {
			for x := range st.load([]thing{t}) {
				if x.t.r != r {
					st.put(me, "[]"+x.sub, x.t)
				}
			}
		}
		for x := range args[0] {
			if x.sub == "" && (x.t.r.kind == kParam || x.t.derived()) {
				out = out.add("", x.t)
			}
			if x.t.r == r {
				continue
			}
			// what keeps the old slice may keep the new one
			for pl, p := range st.escaped[x.t.r] {
				if st.escaped[r] == nil {
					st.escaped[r] = map[*place]string{}
				}
				st.escaped[r][pl] = p
			}
		}
		if len(args) > 1 {
			at := elem(args[1], "[]")
			for x := range st.load(at) {
				st.put(me, "[]"+x.sub, x.t)
			}
		}
		return out.add("", me)
	case "copy":
		if elemHolds(c.Args[0].Type()) {
			in.storeTo(st, elem(args[0], "[]"), st.load(elem(args[1], "[]")), instr, how{})
		} else {
			in.use(st, instr, args[0], false)
			in.use(st, instr, args[1], false)
		}
	case "delete", "clear":
		for _, t := range elem(args[0], "[]") {
			in.cleared(instr, t)
			if b.Name() == "clear" && !t.derived() {
				st.clear(t)
			}
		}
	case "close":
		in.signal(args[0])
	case "String", "StringData", "SliceData", "Slice", "Add":
		return copyVal(args[0])
	case "min", "max":
		var out val
		for _, a := range args {
			out = out.addAll(a)
		}
		return out
	case "ssa:wrapnilchk":
		return copyVal(args[0])
	case "print", "println":
		for _, a := range args {
			in.use(st, instr, a, true)
		}
	}
	return nil
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
		if v, ok := instr.(ssa.Value); ok {
			_ = v
			return derive(recv, "#done", nil)
		}
	}
	return nil
}

// ownerMethod calls a method of an owner that no table describes: it copies its arguments,
// calls functions at once, and what it returns is lent.
func (in *interp) ownerMethod(st *state, instr ssa.Instruction, o owner, m *types.Func, actuals []val) val {
	sig := m.Type().(*types.Signature)
	for _, a := range actuals {
		in.use(st, instr, a, false)
	}
	if _, ok := instr.(*ssa.Go); ok {
		in.toGoroutine(st, instr, actuals, nil, nil)
		return nil
	}
	step := "()"
	if o.strings && !in.p.immutable {
		step = "(s)"
	}
	var src ssa.Value
	if v, ok := instr.(ssa.Value); ok {
		src = v
	}
	if o.strings && in.p.immutable {
		step = ""
	}
	for i := range sig.Params().Len() {
		if _, ok := sig.Params().At(i).Type().Underlying().(*types.Signature); ok && i+1 < len(actuals) {
			in.callback(st, instr, actuals[i+1], in.borrow(st, actuals[0], "()", src))
		}
	}
	if strings.HasPrefix(m.Name(), "Append") && len(actuals) > 1 {
		return copyVal(actuals[1])
	}
	var out val
	for k := range sig.Results().Len() {
		typ := sig.Results().At(k).Type()
		pre := ""
		if sig.Results().Len() > 1 {
			pre = "#" + itoa(k)
		}
		var v val
		switch {
		case in.isOwnerPtr(typ):
			v = derive(actuals[0], "@", src)
		case step != "" && lends(typ, step == "(s)"):
			v = in.borrow(st, actuals[0], step, src)
		case step == "" && isIter(typ):
			v = in.borrow(st, actuals[0], "()", src)
		}
		out = out.addAll(prefixed(v, pre))
	}
	return out
}

// borrow returns what an accessor of the owners in v returns: their memory, and what they
// were given to keep.
func (in *interp) borrow(st *state, v val, step string, src ssa.Value) val {
	out := derive(v, step, src)
	for x := range v {
		for t := range st.mem[x.t.r][x.t.path+"~"] {
			out = out.add("", t)
		}
	}
	return out
}

func (in *interp) isOwnerPtr(typ types.Type) bool {
	o, ok := in.p.ownerOf(typ)
	return ok && o.kind != "files"
}

func isIter(typ types.Type) bool {
	s, ok := typ.Underlying().(*types.Signature)
	return ok && isSeq(s)
}

// lends says whether a result of typ is lent memory.
func lends(typ types.Type, str bool) bool {
	typ = types.Unalias(typ)
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		return str && u.Info()&types.IsString != 0
	case *types.Slice:
		if k := typeKey(typ); k == "net.IP" {
			return false
		}
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
			return true
		}
		return lends(u.Elem(), str)
	case *types.Map:
		return lends(u.Elem(), str) || lends(u.Key(), str)
	case *types.Signature:
		return isSeq(u)
	case *types.Interface:
		k := typeKey(typ)
		return k == "io.Reader" || k == "io.Writer" || k == "io.ReadCloser"
	case *types.Pointer:
		k := typeKey(typ)
		return strings.HasPrefix(k, "mime/multipart.")
	}
	return false
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

// dynamicType returns the type of the value in an interface, if it is certain.
func dynamicType(v ssa.Value) string {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		return types.TypeString(mi.X.Type(), nil)
	}
	return ""
}
