package lifetimes

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

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
		pl.lent = pos.IsValid()
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
		in.release(st, instr, in.resolve(st, r.What, actuals), r.Func, r.Must)
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

// makeResults returns the results of a call.
func (in *interp) makeResults(st *state, instr ssa.Instruction, s *Summary, fn *ssa.Function, actuals []val) val {
	v, ok := instr.(ssa.Value)
	if !ok {
		return nil
	}
	results := types.NewTuple()
	if fn != nil {
		results = fn.Signature.Results()
	} else if call, ok := instr.(ssa.CallInstruction); ok {
		results = call.Common().Signature().Results()
	}
	pre := func(k int) string {
		if results.Len() > 1 {
			return "#" + strconv.Itoa(k)
		}
		return ""
	}
	objs := map[string]*root{}
	obj := func(key string) *root {
		r := objs[key]
		if r == nil {
			n := 1
			for _, c := range key {
				n = n*31 + int(c)
			}
			r = in.fresh(st, v, n)
			objs[key] = r
		}
		return r
	}
	var out val
	taken := map[int]*root{}
	for _, a := range s.Acquires {
		if a.Sub == "" && a.Result < results.Len() {
			taken[a.Result] = in.acquired(st, v, 7+a.Result, a.Func)
		}
	}
	build := func(kind string, f Flow, pre string) {
		w := in.resolve(st, f.From, actuals)
		if len(w) == 0 {
			return
		}
		// cut the path in the result into objects
		rest, key, sub := f.Sub, kind+strconv.Itoa(f.Result), ""
		var at *root
		if r := taken[f.Result]; r != nil && kind == "#" && strings.HasPrefix(rest, "*") {
			for x := range w {
				st.put(thing{r: r, path: rest}, x.sub, x.t)
			}
			return
		}
		for {
			n := strings.IndexAny(rest, "*[{")
			if n < 0 {
				break
			}
			head := rest[:n]
			step := "*"
			if rest[n] != '*' {
				step = rest[n : strings.IndexAny(rest[n:], "]}")+n+1]
			}
			key += head + step[:1]
			next := obj(key)
			if at == nil {
				out = out.add(pre+sub+head, thing{r: next, addr: true})
			} else if at != next {
				st.put(thing{r: at, path: sub + head, addr: true}, "", thing{r: next, addr: true})
			}
			at, sub = next, ""
			if step != "*" {
				sub = step
			}
			rest = rest[n+len(step):]
		}
		for x := range w {
			if at == nil {
				out = out.add(pre+f.Sub+x.sub, x.t)
			} else {
				st.put(thing{r: at, path: sub + rest, addr: true}, x.sub, x.t)
			}
		}
	}
	known := map[int]bool{}
	closures := map[string]bool{}
	for n, c := range s.Closures {
		if c.Result >= results.Len() {
			continue
		}
		known[c.Result] = true
		closures[strconv.Itoa(c.Result)+c.Sub+"{}"] = true
		clo := &closure{sum: c.Sum, bound: c.Bound}
		if c.fn != nil {
			clo.fn = c.fn.fn
		}
		saved := out
		out = nil
		size := 1
		for _, f := range c.Binds {
			build("clo"+strconv.Itoa(n)+"/", f, "#"+strconv.Itoa(f.Result))
			size = max(size, f.Result+1)
		}
		clo.binds = make([]val, size)
		for i := range clo.binds {
			p := "#" + strconv.Itoa(i)
			for x := range out {
				if under(x.sub, p) {
					clo.binds[i] = clo.binds[i].add(x.sub[len(p):], x.t)
				}
			}
		}
		out = saved
		r := obj("closure" + strconv.Itoa(n))
		r.clo = clo
		if strings.ContainsAny(c.Sub, "*[{") {
			n := strings.IndexAny(c.Sub, "*[{")
			o := obj("#" + strconv.Itoa(c.Result) + c.Sub[:n+1])
			out = out.add(pre(c.Result)+c.Sub[:n], thing{r: o, addr: true})
			st.put(thing{r: o, path: strings.TrimPrefix(c.Sub[n:], "*"), addr: true}, "", thing{r: r, addr: true})
		} else {
			out = out.add(pre(c.Result)+c.Sub, thing{r: r, addr: true})
		}
	}
	for _, f := range s.Flows {
		if f.Result < 0 || f.Result >= results.Len() {
			continue
		}
		known[f.Result] = true
		if strings.Contains(f.Sub, "{}") && closures[strconv.Itoa(f.Result)+f.Sub] {
			continue
		}
		build("#", f, pre(f.Result))
	}
	clear(known)
	for x := range out {
		for k := range results.Len() {
			known[k] = known[k] || under(x.sub, pre(k))
		}
	}
	for k := range results.Len() {
		// an object that the function has made
		if !known[k] && pointsTo(results.At(k).Type()) {
			out = out.add(pre(k), thing{r: obj("new" + strconv.Itoa(k)), addr: true})
		}
	}
	for _, a := range s.Acquires {
		if a.Result >= results.Len() {
			continue
		}
		delete(out, vt{pre(a.Result), thing{r: obj("new" + strconv.Itoa(a.Result)), addr: true}})
		r := taken[a.Result]
		if r == nil {
			r = in.acquired(st, v, 7+a.Result, a.Func)
		}
		n := strings.IndexByte(a.Sub, '*')
		if n < 0 {
			out = out.add(pre(a.Result)+a.Sub, thing{r: r})
			continue
		}
		o := obj("#" + strconv.Itoa(a.Result) + a.Sub[:n] + "*")
		out = out.add(pre(a.Result)+a.Sub[:n], thing{r: o, addr: true})
		st.put(thing{r: o, path: a.Sub[n+1:], addr: true}, "", thing{r: r})
	}
	return out
}

// pointsTo says whether a result of typ may be an object that others can change.
func pointsTo(typ types.Type) bool {
	switch typ.Underlying().(type) {
	case *types.Pointer, *types.Map:
		return true
	case *types.Interface:
		return !isError(typ)
	}
	return false
}

func (in *interp) acquired(st *state, v ssa.Value, n int, pool string) *root {
	r := in.root(v, n, kAcquire)
	r.pool = pool
	delete(st.mem, r)
	delete(st.escaped, r)
	delete(st.kept, r)
	for t := range st.released {
		if t.r == r {
			delete(st.released, t)
		}
	}
	return r
}

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

// streamTo gives an owner a function or a reader that it uses while the response is sent.
func (in *interp) streamTo(st *state, instr ssa.Instruction, at []thing, v val, h how) {
	for _, t := range at {
		owner := t
		owner.path = strings.TrimSuffix(owner.path, "~")
		if owner.r.kind == kParam && (in.lentThing(st, owner, false) || in.ownerInput(owner.r)) {
			pl := in.place(instr, "stream", nil, "", h.pos)
			pl.lent = h.lent
			pl.strm = true
			in.emitStream(st, v, pl)
			in.storeTo(st, []thing{t}, v, instr, how{stream: true, pos: h.pos, lent: h.lent})
			continue
		}
		in.storeTo(st, []thing{t}, v, instr, how{stream: true, pos: h.pos, lent: h.lent})
	}
}

func (in *interp) ownerInput(r *root) bool {
	_, ok := in.p.ownerOf(r.val.Type())
	return ok
}

// emitStream keeps functions, and readers that have a context: bytes in a reader are read
// while the request is still there.
func (in *interp) emitStream(st *state, v val, pl *place) {
	for x := range v {
		t := x.t
		if t.r.clo != nil || t.r.kind == kParam && !t.derived() {
			in.emit(st, one(t), pl)
			continue
		}
		own := t.r.kind == kAlloc && t.r.val != nil && strings.HasPrefix(typeKey(t.r.val.Type()), in.p.Pkg.Path()+".")
		for _, u := range st.reach(one(t), func(r *root) []thing { return in.closureUses(st, r) }) {
			if !u.derived() || own || strict {
				in.emitOne(st, u, pl, false)
			}
		}
	}
}

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
				if sig := f.Type().(*types.Signature); c != nil && len(c.Args) > 0 {
					_ = sig
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

// closureMade does what a closure does to what it captures, whoever calls it: what it keeps
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
		pl.lent = pos.IsValid()
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

// contents returns a new slice or map of the elements of v.
func (in *interp) contents(st *state, instr ssa.Instruction, v val, results func(val, string)) {
	sv, ok := instr.(ssa.Value)
	if !ok {
		return
	}
	r := in.root(sv, 11, kAlloc)
	me := thing{r: r, addr: true}
	for x := range in.elems(st, v) {
		if x.t.r != r {
			st.put(me, "[]"+x.sub, x.t)
		}
	}
	results(one(me), "r")
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
