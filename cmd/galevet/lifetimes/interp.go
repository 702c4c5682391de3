package lifetimes

import (
	"go/token"
	"go/types"
	"sort"
	"strconv"

	"golang.org/x/tools/go/ssa"
)

// interp follows values through one function.
type interp struct {
	p  *pass
	fi *fnInfo
	fn *ssa.Function

	regs  map[ssa.Value]val
	roots map[rootKey]*root

	places map[placeKey]*place
	cands  map[candKey]*cand
	late   map[lateKey]*lateUse

	detachAt map[ssa.Instruction]map[*root]bool
	waitAt   map[ssa.Instruction]set
	mayAt    map[ssa.Instruction]set
	links    map[ssa.Instruction]*link // goroutines that wait for some and signal others
	signals  set
	uses     map[Ref]bool
	dyn      map[string]DynCall
	results  map[Flow]bool
	acquires map[Acquire]bool
	closures map[*root]*Closure
	clears   map[ssa.Instruction]set
	returned map[*root]bool
	lentUses map[ssa.Instruction]bool
	signalAt map[thing][]ssa.Instruction
	releases map[Ref]*Release
	relAt    map[Ref]map[ssa.Instruction]bool
	depth    int // of calls of function values
	fuel     int
	steps    int      // of searches
	argTypes []string // dynamic types of the arguments of the call that is followed
}

type rootKey struct {
	v ssa.Value
	n int
}

type link struct{ waits, signals set }

type placeKey struct {
	instr ssa.Instruction
	kind  string
	r     *root
	path  string
	pos   token.Pos
}

// A cand is an input that may be kept.
type candKey struct {
	pl *place
	t  thing
}

type cand struct {
	pl    *place
	t     thing
	value bool // a derived context whose values are read
}

// A lateUse is a use of something that was released.
type lateKey struct {
	instr ssa.Instruction
	kind  string
	r     *root
}

type lateUse struct {
	kind  string // use, return, double, kept
	instr ssa.Instruction
	t     thing
	rel   map[ssa.Instruction]bool
	pl    *place
}

func (p *pass) newInterp(fi *fnInfo) *interp {
	in := &interp{
		p: p, fi: fi, fn: fi.fn,
		regs: map[ssa.Value]val{}, roots: map[rootKey]*root{},
		places: map[placeKey]*place{}, cands: map[candKey]*cand{}, late: map[lateKey]*lateUse{},
		detachAt: map[ssa.Instruction]map[*root]bool{}, waitAt: map[ssa.Instruction]set{}, mayAt: map[ssa.Instruction]set{},
		links: map[ssa.Instruction]*link{}, signals: set{}, uses: map[Ref]bool{}, dyn: map[string]DynCall{},
		results: map[Flow]bool{}, closures: map[*root]*Closure{}, clears: map[ssa.Instruction]set{}, returned: map[*root]bool{}, lentUses: map[ssa.Instruction]bool{}, signalAt: map[thing][]ssa.Instruction{}, acquires: map[Acquire]bool{}, releases: map[Ref]*Release{}, relAt: map[Ref]map[ssa.Instruction]bool{},
	}
	n := 0
	direct := false
	for _, v := range fi.fn.Params {
		_, ok := p.requestScoped(v.Type())
		direct = direct || ok
	}
	for i, v := range fi.fn.Params {
		r := in.root(v, 0, kParam)
		r.base = n
		r.lent = p.lentPaths(v.Type(), 2)
		if direct && len(r.lent) > 0 && r.lent[0] != "" {
			r.lent = nil // the context is a parameter of its own
		}
		r.long = i == 0 && fi.recvLong && len(r.lent) == 0
		in.regs[v] = one(thing{r: r})
		n++
	}
	for _, v := range fi.fn.FreeVars {
		r := in.root(v, 0, kParam)
		r.base, r.free = n, true
		if ptr, ok := v.Type().Underlying().(*types.Pointer); ok && fi.boundOf == nil {
			for _, q := range p.lentPaths(ptr.Elem(), 2) {
				r.lent = append(r.lent, "*"+q)
			}
		} else {
			r.lent = p.lentPaths(v.Type(), 2)
		}
		r.long = fi.freeLong
		in.regs[v] = one(thing{r: r})
		n++
	}
	return in
}

func (in *interp) root(v ssa.Value, n int, k rootKind) *root {
	key := rootKey{v, n}
	r := in.roots[key]
	if r == nil {
		r = &root{kind: k, val: v}
		in.roots[key] = r
	}
	return r
}

func (in *interp) place(instr ssa.Instruction, kind string, r *root, path string, pos token.Pos) *place {
	key := placeKey{instr, kind, r, path, pos}
	pl := in.places[key]
	if pl == nil {
		pl = &place{kind: kind, instr: instr, r: r, path: path, pos: int(pos)}
		in.places[key] = pl
	}
	return pl
}

// run computes the state before each block until nothing changes.
func (in *interp) run() {
	if len(in.fn.Blocks) == 0 {
		return
	}
	in.fuel = maxFuel
	n := 0
	for _, b := range in.fn.Blocks {
		n += len(b.Instrs)
	}
	if n > maxInstrs {
		in.giveUp()
		return
	}
	states := map[*ssa.BasicBlock]*state{in.fn.Blocks[0]: newState(&in.fuel)}
	order := in.fn.DomPreorder()
	pending := map[*ssa.BasicBlock]bool{in.fn.Blocks[0]: true}
	if in.fn.Recover != nil {
		states[in.fn.Recover] = newState(&in.fuel)
	}
	for rounds := 0; rounds < 12 && len(pending) > 0; rounds++ {
		for _, b := range order {
			if !pending[b] {
				continue
			}
			delete(pending, b)
			before := in.size()
			st := states[b].clone()
			for _, instr := range b.Instrs {
				if in.fuel -= 4; in.fuel < 0 {
					in.giveUp()
					return
				}
				in.exec(st, instr)
			}
			grew := in.size() != before
			for _, s := range b.Succs {
				if states[s] == nil {
					states[s] = st.clone()
					pending[s] = true
				} else if states[s].join(st) || grew && rounds < 4 {
					pending[s] = true
				}
			}
		}
	}
}

// maxFuel bounds the work for one function. What is more complicated isn't followed.
const (
	maxFuel   = 200_000
	maxInstrs = 12_000
)

// giveUp forgets what was found.
func (in *interp) giveUp() {
	in.cands, in.late, in.uses, in.dyn = nil, nil, map[Ref]bool{}, nil
	in.results, in.acquires, in.releases, in.signals, in.closures, in.clears = nil, nil, nil, nil, nil, nil
	in.waitAt, in.mayAt, in.detachAt = nil, nil, nil
}

// size grows when a register learns something.
func (in *interp) size() int {
	n := 0
	for _, v := range in.regs {
		n += len(v)
	}
	return n
}

func (in *interp) set(v ssa.Value, x val) {
	if len(x) == 0 {
		return
	}
	old := in.regs[v]
	if old == nil {
		in.regs[v] = x
		return
	}
	in.regs[v] = old.addAll(x)
}

// get returns what v may be.
func (in *interp) get(v ssa.Value) val {
	switch v := v.(type) {
	case *ssa.Const:
		return nil
	case *ssa.Global:
		return one(thing{r: in.global(v), addr: true})
	case *ssa.Function:
		r := in.root(v, 0, kAlloc)
		r.fn = v
		return one(thing{r: r, addr: true})
	}
	return in.regs[v]
}

func (in *interp) global(g *ssa.Global) *root {
	r := in.root(g, 0, kGlobal)
	if r.name == "" {
		r.name = g.Package().Pkg.Path() + "." + g.Name()
		r.long = true
	}
	return r
}

// sub returns the part of v at a step, which is a field or "#n" of a tuple.
func sub(v val, step string, typ types.Type) val {
	var out, whole val
	for x := range v {
		switch {
		case x.sub == "":
			t := x.t
			if step[0] == '.' && !t.derived() {
				if t.addr {
					continue
				}
				t = t.extend(step)
				t.addr = false
			}
			whole = whole.add("", t)
		case under(x.sub, step):
			out = out.add(x.sub[len(step):], x.t)
		}
	}
	if step[0] == '#' || len(out) == 0 {
		out = out.addAll(whole)
	}
	if !canHold(typ) {
		return nil
	}
	return out
}

func prefixed(v val, pre string) val {
	var out val
	for x := range v {
		out = out.add(pre+x.sub, x.t)
	}
	return out
}

// loaded drops what a value of typ that was read from memory can't be.
func loaded(v val, at []thing, typ types.Type) val {
	if !canHold(typ) {
		return nil
	}
	if onlyStrings(typ) {
		// the strings in what an accessor returned are real ones, unless the owner's are not
		from := false
		for _, a := range at {
			from = from || a.derived() && !a.unsafeString()
		}
		if from {
			var out val
			for x := range v {
				if !x.t.derived() || x.t.unsafeString() {
					out = out.add(x.sub, x.t)
				}
			}
			return out
		}
	}
	return v
}

func fieldName(typ types.Type, i int) string {
	typ = typ.Underlying()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem().Underlying()
	}
	if s, ok := typ.(*types.Struct); ok {
		return "." + s.Field(i).Name()
	}
	return "." + strconv.Itoa(i)
}

func (in *interp) exec(st *state, instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Alloc:
		r := in.fresh(st, i, 0)
		in.set(i, one(thing{r: r, addr: true}))
	case *ssa.MakeMap:
		in.set(i, one(thing{r: in.fresh(st, i, 0), addr: true}))
	case *ssa.MakeChan:
		in.set(i, one(thing{r: in.fresh(st, i, 0), addr: true}))
	case *ssa.MakeSlice:
		in.set(i, one(thing{r: in.fresh(st, i, 0), addr: true}))
	case *ssa.MakeClosure:
		r := in.fresh(st, i, 0)
		fn, binds := in.closureTarget(i)
		r.clo = &closure{fn: fn, bound: fn != i.Fn.(*ssa.Function), binds: binds}
		in.set(i, one(thing{r: r, addr: true}))
		in.closureMade(st, i)
	case *ssa.Phi:
		for _, e := range i.Edges {
			in.set(i, copyVal(in.get(e)))
		}
	case *ssa.UnOp:
		in.unop(st, i)
	case *ssa.BinOp:
		if b, ok := i.X.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			in.use(st, i, in.get(i.X), false)
			in.use(st, i, in.get(i.Y), false)
			if i.Op == token.ADD {
				if emptyConst(i.X) {
					in.set(i, copyVal(in.get(i.Y)))
				} else if emptyConst(i.Y) {
					in.set(i, copyVal(in.get(i.X)))
				}
			}
		}
	case *ssa.Convert:
		if aliases(i.X.Type(), i.Type()) {
			in.set(i, copyVal(in.get(i.X)))
		} else {
			in.use(st, i, in.get(i.X), false)
		}
	case *ssa.ChangeType:
		in.set(i, copyVal(in.get(i.X)))
	case *ssa.ChangeInterface:
		in.set(i, copyVal(in.get(i.X)))
	case *ssa.MakeInterface:
		if canHold(i.X.Type()) {
			in.set(i, copyVal(in.get(i.X)))
		}
	case *ssa.SliceToArrayPointer:
		in.set(i, copyVal(in.get(i.X)))
	case *ssa.TypeAssert:
		if canHold(i.AssertedType) {
			v := typed(in.get(i.X), i.AssertedType)
			if i.CommaOk {
				v = prefixed(v, "#0")
			}
			in.set(i, copyVal(v))
		}
	case *ssa.Extract:
		in.set(i, sub(in.get(i.Tuple), "#"+strconv.Itoa(i.Index), i.Type()))
	case *ssa.Field:
		in.set(i, sub(in.get(i.X), fieldName(i.X.Type(), i.Field), i.Type()))
	case *ssa.FieldAddr:
		step := fieldName(i.X.Type(), i.Field)
		for _, t := range deref(in.get(i.X)) {
			in.set(i, one(t.extend(step)))
		}
	case *ssa.IndexAddr:
		for _, t := range elem(in.get(i.X), "[]") {
			in.set(i, one(t))
		}
	case *ssa.Index:
		in.use(st, i, in.get(i.X), false)
		if canHold(i.Type()) {
			in.set(i, sub(in.get(i.X), "[]", i.Type()))
		}
	case *ssa.Lookup:
		in.use(st, i, in.get(i.X), false)
		in.use(st, i, in.get(i.Index), false)
		if canHold(i.Type()) {
			at := elem(in.get(i.X), "[]")
			v := loaded(st.load(at), at, lookupType(i))
			if i.CommaOk {
				v = prefixed(v, "#0")
			}
			in.set(i, v)
		}
	case *ssa.Slice:
		if c, ok := i.High.(*ssa.Const); ok && c.Value != nil && c.Int64() == 0 && elemHolds(i.Type()) {
			// nothing is left of the elements
			in.set(i, one(thing{r: in.fresh(st, i, 0), addr: true}))
			return
		}
		in.set(i, copyVal(in.get(i.X)))
	case *ssa.Range:
		in.set(i, copyVal(in.get(i.X)))
	case *ssa.Next:
		in.use(st, i, in.get(i.Iter), false)
		if !i.IsString {
			tup := i.Type().(*types.Tuple)
			k, v := elem(in.get(i.Iter), "[k]"), elem(in.get(i.Iter), "[]")
			in.set(i, prefixed(loaded(st.load(k), k, tup.At(1).Type()), "#1"))
			in.set(i, prefixed(loaded(st.load(v), v, tup.At(2).Type()), "#2"))
		}
	case *ssa.Store:
		at := deref(in.get(i.Addr))
		if !canHold(i.Val.Type()) {
			in.useLocs(st, i, at)
			return
		}
		in.storeTo(st, at, fields(in.get(i.Val), i.Val.Type(), 2), i, how{strong: true})
	case *ssa.MapUpdate:
		in.use(st, i, in.get(i.Map), false)
		if canHold(i.Value.Type()) {
			in.storeTo(st, elem(in.get(i.Map), "[]"), in.get(i.Value), i, how{})
		}
		if canHold(i.Key.Type()) {
			in.storeTo(st, elem(in.get(i.Map), "[k]"), in.get(i.Key), i, how{key: true})
		}
	case *ssa.Send:
		in.sends(in.get(i.Chan))
		in.storeTo(st, elem(in.get(i.Chan), "[]"), in.get(i.X), i, how{channel: true})
	case *ssa.Select:
		in.selects(st, i)
	case *ssa.Call:
		in.set(i, in.call(st, i, &i.Call))
	case *ssa.Go:
		in.call(st, i, &i.Call)
	case *ssa.Defer:
		st.defers[i] = true
		if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "close" {
			in.signal(in.get(i.Call.Args[0]))
		}
	case *ssa.RunDefers:
		var list []*ssa.Defer
		for d := range st.defers {
			list = append(list, d)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Pos() > list[j].Pos() }) // the last one runs first
		for _, d := range list {
			in.call(st, d, &d.Call)
		}
	case *ssa.Return:
		in.returns(st, i)
	case *ssa.Panic:
		in.use(st, i, in.get(i.X), true)
	}
}

func copyVal(v val) val {
	if v == nil {
		return nil
	}
	w := make(val, len(v))
	for x := range v {
		w[x] = struct{}{}
	}
	return w
}

func lookupType(i *ssa.Lookup) types.Type {
	if m, ok := i.X.Type().Underlying().(*types.Map); ok {
		return m.Elem()
	}
	return i.Type()
}

func emptyConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.ExactString() == `""`
}

// aliases says whether a conversion keeps the memory.
func aliases(from, to types.Type) bool {
	kind := func(t types.Type) string {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case u.Info()&types.IsString != 0:
				return "string"
			case u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr:
				return "ptr"
			}
			return "number"
		case *types.Pointer:
			return "ptr"
		case *types.Slice:
			return "slice"
		}
		return "other"
	}
	f, t := kind(from), kind(to)
	return f == t && f != "number"
}

// fresh makes or empties the object that instr makes.
func (in *interp) fresh(st *state, v ssa.Value, n int) *root {
	r := in.root(v, n, kAlloc)
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

func (in *interp) unop(st *state, i *ssa.UnOp) {
	switch i.Op {
	case token.MUL:
		at := deref(in.get(i.X))
		if !canHold(i.Type()) {
			in.useLocs(st, i, at)
			return
		}
		in.set(i, loaded(st.load(at), at, i.Type()))
		if b, ok := i.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			in.useDerived(st, i, at)
		}
	case token.ARROW:
		ch := in.get(i.X)
		in.use(st, i, ch, false)
		in.wait(i, ch)
		typ := i.Type()
		if i.CommaOk {
			typ = typ.(*types.Tuple).At(0).Type()
		}
		if canHold(typ) {
			v := st.load(elem(ch, "[]"))
			if i.CommaOk {
				v = prefixed(v, "#0")
			}
			in.set(i, v)
		}
	}
}

func (in *interp) selects(st *state, i *ssa.Select) {
	n := 2
	for _, s := range i.States {
		ch := in.get(s.Chan)
		if s.Dir == types.SendOnly {
			in.sends(ch)
			in.storeTo(st, elem(ch, "[]"), in.get(s.Send), i, how{channel: true, pos: s.Pos})
			continue
		}
		m := in.mayAt[i]
		if m == nil {
			m = set{}
			in.mayAt[i] = m
		}
		for x := range ch {
			m[x.t] = struct{}{}
		}
		if canHold(s.Chan.Type().Underlying().(*types.Chan).Elem()) {
			in.set(i, prefixed(st.load(elem(ch, "[]")), "#"+strconv.Itoa(n)))
		}
		n++
	}
}

func (in *interp) wait(i ssa.Instruction, v val) {
	m := in.waitAt[i]
	if m == nil {
		m = set{}
		in.waitAt[i] = m
	}
	for x := range v {
		m[x.t] = struct{}{}
	}
}

func (in *interp) signal(v val) {
	for x := range v {
		in.signals[x.t] = struct{}{}
	}
}

// fields splits what a struct was at first into its fields, so that they can be replaced
// one by one.
func fields(v val, typ types.Type, depth int) val {
	u, ok := typ.Underlying().(*types.Struct)
	if !ok || depth == 0 || isForeign(typ) || u.NumFields() > 16 {
		return v
	}
	var out val
	for x := range v {
		if x.sub != "" || x.t.addr || x.t.derived() {
			out = out.add(x.sub, x.t)
			continue
		}
		for f := range u.Fields() {
			if !canHold(f.Type()) {
				continue
			}
			t := x.t.extend("." + f.Name())
			t.addr = false
			for y := range fields(one(t), f.Type(), depth-1) {
				out = out.add("."+f.Name()+y.sub, y.t)
			}
		}
	}
	return out
}

// sends notes a send: each needs a receive of its own.
func (in *interp) sends(v val) {
	for x := range v {
		x.t.path += "#send"
		in.signals[x.t] = struct{}{}
	}
}

// typed notes in the paths of interface values what their dynamic type must be.
func typed(v val, typ types.Type) val {
	if types.IsInterface(typ) {
		return v
	}
	var out val
	for x := range v {
		if x.sub == "" && x.t.path == "" && x.t.r.kind == kParam && !x.t.addr && types.IsInterface(x.t.r.val.Type()) {
			if b, ok := typ.(*types.Basic); ok {
				x.t.path = "<" + b.Name() + ">"
			} else if types.TypeString(typ, nil) == "[]byte" {
				x.t.path = "<[]byte>"
			}
		}
		out = out.add(x.sub, x.t)
	}
	return out
}

// signalledAt notes where a channel is closed, or a wait group is told that this is done.
func (in *interp) signalledAt(instr ssa.Instruction, v val) {
	for x := range v {
		in.signalAt[x.t] = append(in.signalAt[x.t], instr)
	}
}

// tooEarly says whether the function uses a context after it has signalled t.
func (in *interp) tooEarly(t thing) bool {
	for _, i := range in.signalAt[t] {
		if _, ok := i.(*ssa.Call); !ok || inLoop(i.Block()) {
			continue
		}
		for u := range in.lentUses {
			if _, ok := u.(*ssa.Defer); ok || u == i || !i.Block().Dominates(u.Block()) {
				continue
			}
			if u.Block() != i.Block() || before(i, u) {
				return true
			}
		}
	}
	return false
}

// before says whether a comes before b in their block.
func before(a, b ssa.Instruction) bool {
	for _, i := range a.Block().Instrs {
		if i == a {
			return true
		}
		if i == b {
			return false
		}
	}
	return false
}
