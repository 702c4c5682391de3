package lifetimes

import (
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// applyTable does what the tables say about a function.
func (in *interp) applyTable(st *state, instr ssa.Instruction, e entry, f *types.Func, actuals []val, c *ssa.CallCommon) val {
	sig := f.Type().(*types.Signature)
	off := 0
	if sig.Recv() != nil {
		off = 1
	}
	_, isGo := instr.(*ssa.Go)
	for _, a := range actuals {
		in.use(st, instr, a, !isGo)
	}
	operand := func(s string) val {
		base := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(s, "[k]"), "()"), "[]~")
		var v val
		switch base {
		case "recv":
			if off == 1 && len(actuals) > 0 {
				v = actuals[0]
			}
		case "all":
			for _, a := range actuals {
				v = v.addAll(a)
			}
		default:
			n, err := strconv.Atoi(base)
			if err == nil && n+off < len(actuals) {
				v = actuals[n+off]
			}
		}
		switch {
		case strings.HasSuffix(s, "[]"):
			return st.load(elem(v, "[]"))
		case strings.HasSuffix(s, "[k]"):
			return st.load(elem(v, "[k]"))
		case strings.HasSuffix(s, "~"):
			return values(st, v)
		case strings.HasSuffix(s, "()"):
			var src ssa.Value
			if sv, ok := instr.(ssa.Value); ok {
				src = sv
			}
			step := "()"
			if o, ok := in.ownerOfVal(sig); ok && o.strings {
				if in.p.immutable {
					return nil
				}
				step = "(s)"
			}
			return in.borrow(st, v, step, src)
		}
		return v
	}
	var out val
	result := func(k int, v val) {
		if k >= sig.Results().Len() || !canHold(sig.Results().At(k).Type()) {
			return
		}
		pre := ""
		if sig.Results().Len() > 1 {
			pre = "#" + strconv.Itoa(k)
		}
		out = out.addAll(prefixed(v, pre))
	}
	results := func(v val, to string) {
		if to == "r" {
			for k := range sig.Results().Len() {
				if types.Identical(sig.Results().At(k).Type(), types.Universe.Lookup("error").Type()) && sig.Results().Len() > 1 {
					continue
				}
				result(k, v)
			}
			return
		}
		k, _ := strconv.Atoi(to[1:])
		result(k, v)
	}
	for _, eff := range e.effects {
		switch {
		case eff == "none" || eff == "cancel" || strings.HasPrefix(eff, "use:"):
		case strings.HasPrefix(eff, "clear:"):
			for x := range operand(eff[len("clear:"):]) {
				in.cleared(instr, x.t.extend("[]"))
			}
		case eff == "new":
			if v, ok := instr.(ssa.Value); ok {
				result(0, one(thing{r: in.fresh(st, v, 5), addr: true}))
			}
		case strings.HasPrefix(eff, "form:"):
			if c != nil && in.hasFormTags(c, eff[len("form:"):], off) {
				var src ssa.Value
				if sv, ok := instr.(ssa.Value); ok {
					src = sv
				}
				if !in.p.immutable {
					n, _ := strconv.Atoi(eff[len("form:"):])
					in.storeTo(st, deref(actuals[n+off]), in.borrow(st, actuals[0], "(s)", src), instr, how{})
				}
			}
		case strings.HasPrefix(eff, "slog:"):
			if in.p.slogKeeps() {
				in.toPlace(st, instr, "log", []val{operand(eff[len("slog:"):])}, nil, nil)
			}
		case eff == "acquire":
			if v, ok := instr.(ssa.Value); ok {
				r := in.acquired(st, v, 3, f.Name())
				if o, ok := in.p.ownerOf(v.Type()); ok {
					r.typed = o
				}
				out = out.add("", thing{r: r})
			}
		case strings.HasPrefix(eff, "release:"):
			v := operand(eff[len("release:"):])
			if f.Name() == "Put" {
				in.poolLent(st, instr, v)
				v = pooledOnly(v)
			}
			in.release(st, instr, v, f.Name(), true)
		case strings.HasPrefix(eff, "detach:"):
			in.detach(instr, operand(eff[len("detach:"):]))
		case strings.HasPrefix(eff, "wait:"):
			in.wait(instr, operand(eff[len("wait:"):]))
		case strings.HasPrefix(eff, "signal:"):
			in.signal(operand(eff[len("signal:"):]))
			in.signalledAt(instr, operand(eff[len("signal:"):]))
		case strings.HasPrefix(eff, "values:"):
			result(0, values(st, operand(eff[len("values:"):])))
		case strings.HasPrefix(eff, "object:"):
			var src ssa.Value
			if sv, ok := instr.(ssa.Value); ok {
				src = sv
			}
			result(0, derive(operand(eff[len("object:"):]), "@", src))
		case strings.HasPrefix(eff, "ctx:"):
			from, _, _ := strings.Cut(eff[4:], "->")
			result(0, derive(operand(from), "(c)", nil))
		case strings.HasPrefix(eff, "errors:"):
			from, to, _ := strings.Cut(eff[len("errors:"):], "->")
			for _, t := range st.reach(operand(from), func(*root) []thing { return nil }) {
				if t.r.kind == kAlloc && t.r.val != nil && isError(t.r.val.Type()) {
					results(one(t), to)
				}
			}
		case strings.Contains(eff, "=value="):
			from, to, _ := strings.Cut(eff, "=value=")
			v := operand(from)
			for x := range operand(to) {
				for y := range v {
					st.put(x.t, "~v", y.t)
					if y.t.r != x.t.r && y.t.r.kind != kParam {
						in.emit(st, one(y.t), in.place(instr, "value", x.t.r, x.t.path+"~v", 0))
					}
				}
			}
		case strings.Contains(eff, "=key="):
			from, to, _ := strings.Cut(eff, "=key=")
			in.storeTo(st, elem(operand(to), "[k]"), operand(from), instr, how{key: true})
		case strings.Contains(eff, "~~>"):
			from, to, _ := strings.Cut(eff, "~~>")
			var at []thing
			for x := range operand(to) {
				t := x.t
				at = append(at, t.extend("~"))
			}
			in.streamTo(st, instr, at, operand(from), how{})
		case strings.Contains(eff, "~>"):
			from, to, _ := strings.Cut(eff, "~>")
			for x := range operand(to) {
				in.storeTo(st, []thing{x.t.extend("~")}, operand(from), instr, how{})
				in.sharedRaw(instr, x.t, operand(from))
			}
		case strings.Contains(eff, "=>"):
			from, to, _ := strings.Cut(eff, "=>")
			v := operand(from)
			if len(v) == 0 {
				continue
			}
			if to == "r" {
				if c != nil && len(c.Args) > 0 {
					if !elemHolds(c.Signature().Results().At(0).Type()) || !elemHolds(c.Args[0].Type()) {
						continue
					}
				}
				in.contents(st, instr, v, results)
				continue
			}
			n, _ := strconv.Atoi(to)
			if n+off < len(actuals) {
				in.storeTo(st, elem(actuals[n+off], "[]"), st.load(elem(v, "[]")), instr, how{})
				in.storeTo(st, elem(actuals[n+off], "[k]"), st.load(elem(v, "[k]")), instr, how{})
			}
		case strings.Contains(eff, "->"):
			from, to, _ := strings.Cut(eff, "->")
			v := operand(from)
			if to[0] == 'r' && to != "recv" {
				results(v, to)
				continue
			}
			in.storeTo(st, elem(operand(to), "[]"), v, instr, how{})
		case strings.Contains(eff, "!"):
			from, kind, _ := strings.Cut(eff, "!")
			kind, joined, _ := strings.Cut(kind, ":")
			in.keep(st, instr, kind, operand(from), operand(joined))
			if sv, ok := instr.(ssa.Value); ok && kind == "timer" {
				result(0, one(thing{r: in.root(sv, 0, kAlloc), addr: true}))
			}
		case strings.Contains(eff, "("):
			in.tableCalls(st, instr, eff, operand)
		}
	}
	if isGo {
		in.toGoroutine(st, instr, actuals, nil, nil)
	}
	return out
}

func (in *interp) ownerOfVal(sig *types.Signature) (owner, bool) {
	if sig.Recv() == nil {
		if sig.Params().Len() > 0 {
			return in.p.ownerOf(sig.Params().At(0).Type())
		}
		return owner{}, false
	}
	return in.p.ownerOf(sig.Recv().Type())
}

// keep keeps v after the call.
func (in *interp) keep(st *state, instr ssa.Instruction, kind string, v, joined val) {
	var joins []thing
	for x := range joined {
		joins = append(joins, x.t)
	}
	if kind == "timer" || kind == "goroutine" {
		// Stop on what the call returned ends it
		if sv, ok := instr.(ssa.Value); ok {
			joins = append(joins, thing{r: in.root(sv, 0, kAlloc), addr: true})
		}
		for x := range v {
			if x.t.r.clo == nil {
				continue
			}
			s, actuals, off := in.summaryOfClosure(x.t.r.clo, nil)
			if s == nil {
				continue
			}
			l := &link{set{}, set{}}
			for _, r := range s.Signals {
				if r.Base >= off {
					for y := range in.resolve(st, r, actuals) {
						joins = append(joins, y.t)
						l.signals[y.t] = struct{}{}
					}
				}
			}
			for _, r := range s.Waits {
				if r.Base >= off {
					for y := range in.resolve(st, r, actuals) {
						l.waits[y.t] = struct{}{}
					}
				}
			}
			for _, j := range joins {
				l.signals[j] = struct{}{}
			}
			in.links[instr] = l
		}
	}
	in.toPlace(st, instr, kind, []val{v}, nil, joins)
}

// tableCalls calls the function A of "A(B,C)" with arguments B and C.
func (in *interp) tableCalls(st *state, instr ssa.Instruction, eff string, operand func(string) val) {
	shared := strings.HasSuffix(eff, ",shared")
	eff = strings.TrimSuffix(eff, ",shared")
	n := strings.IndexByte(eff, '(')
	f := operand(eff[:n])
	list := strings.TrimSuffix(eff[n+1:], ")")
	var args []val
	if list != "" {
		for _, a := range strings.Split(list, ",") {
			args = append(args, operand(a))
		}
	}
	for x := range f {
		if x.sub != "" {
			continue
		}
		full := args
		if c := x.t.r.clo; c != nil && c.fn != nil {
			full = fill(args, c.fn.Signature)
		} else if x.t.r.fn != nil {
			full = fill(args, x.t.r.fn.Signature)
		}
		v := in.callValue(st, instr, one(x.t), nil, full, nil)
		if shared {
			in.toPlace(st, instr, "shared", []val{v}, nil, nil)
		}
	}
}

// fill repeats the last argument until there are enough.
func fill(args []val, sig *types.Signature) []val {
	out := append([]val(nil), args...)
	for len(out) < sig.Params().Len() {
		if len(args) == 0 {
			out = append(out, nil)
		} else {
			out = append(out, args[len(args)-1])
		}
	}
	return out[:sig.Params().Len()]
}

func isError(typ types.Type) bool {
	e := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return types.Implements(typ, e)
}

// values returns the user values of the requests in v, as far as they are known.
func values(st *state, v val) val {
	var out val
	for x := range v {
		for t := range st.mem[x.t.r][x.t.path+"~v"] {
			if t.r != x.t.r || t.path != x.t.path+"~v" {
				out = out.add("", t)
			}
		}
	}
	return out
}

// hasFormTags says whether an argument points to a struct whose fields are those of forms.
func (in *interp) hasFormTags(c *ssa.CallCommon, arg string, off int) bool {
	n, err := strconv.Atoi(arg)
	if err != nil || n+off >= len(c.Args) {
		return false
	}
	v := c.Args[n+off]
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	ptr, ok := v.Type().Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	u, ok := ptr.Elem().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range u.NumFields() {
		tag := u.Tag(i)
		if strings.Contains(tag, "form:") && !strings.Contains(tag, "json:") {
			return true
		}
	}
	return false
}

// slogKeeps says whether a handler of log/slog in this package keeps records.
func (p *pass) slogKeeps() bool {
	for _, fi := range p.list {
		fn := fi.fn
		if fn.Name() != "Handle" || fn.Signature.Recv() == nil || len(fn.Params) != 3 || typeKey(fn.Params[2].Type()) != "log/slog.Record" {
			continue
		}
		s := p.summaryOf(fn)
		for _, e := range s.Escapes {
			if e.From.Base == 2 {
				return true
			}
		}
		for _, f := range s.Flows {
			if f.Result < 0 && f.From.Base == 2 {
				return true
			}
		}
	}
	return false
}
