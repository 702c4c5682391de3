package lifetimes

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// pass is one package that is looked at.
type pass struct {
	*analysis.Pass
	prog      *ssa.Program
	spkg      *ssa.Package
	fns       map[*ssa.Function]*fnInfo
	list      []*fnInfo
	owners    map[string]owner
	decl      map[string]entry
	immutable bool
	rounds    int
	changed   bool

	globalFuncs map[string][]*ssa.Function
	ifaceTypes  map[string][]types.Type     // concrete types stored in a variable or field
	made        map[types.Type][]types.Type // concrete types converted to an interface
	facts       map[*ssa.Function]*Summary
	bound       map[*ssa.Function]*ssa.Function
	goStmts     map[token.Pos]*ast.GoStmt
	seen        map[string]*analysis.Diagnostic // by line
	order       []string
	calls       map[token.Pos]*ast.CallExpr
	fixed       map[*ast.CallExpr]bool
	detached    map[*ssa.Parameter]bool
	decls       []string
}

// fnInfo is one function of the package.
type fnInfo struct {
	fn       *ssa.Function
	sum      *Summary
	busy     bool
	round    int
	reports  bool // its contexts come from unknown callers
	freeLong bool // what it captures outlives requests
	recvLong bool
	boundOf  *ssa.Function
	callers  int
	asValue  bool
	valueIn  []*ssa.Function // functions that use it as a value
	last     *interp
}

func (p *pass) isStd(path string) bool {
	return stdPath(path) || strings.HasPrefix(path, "golang.org/x/")
}

// entry returns what tables or comments say about a function.
func (p *pass) entry(key string) (entry, bool) {
	if key == "" {
		return entry{}, false
	}
	if e, ok := p.decl[key]; ok {
		return e, true
	}
	e, ok := known.funcs[key]
	return e, ok
}

func (p *pass) declaredHere(typ types.Type) bool {
	k := typeKey(typ)
	_, declared := p.owners[k]
	return !declared && strings.HasPrefix(k, p.Pkg.Path()+".")
}

// summaryOf returns a function's summary, or nil if nothing is known.
func (p *pass) summaryOf(fn *ssa.Function) *Summary {
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if fi := p.fns[fn]; fi != nil {
		p.analyze(fi)
		return fi.sum
	}
	if s, ok := p.facts[fn]; ok {
		return s
	}
	if obj, ok := fn.Object().(*types.Func); ok && obj.Pkg() != nil && obj.Pkg() != p.Pkg && !strings.Contains(fn.Synthetic, "wrapper") {
		var f FuncFact
		var s *Summary
		if p.ImportObjectFact(obj, &f) {
			s = &f.S
		} else if !p.isStd(obj.Pkg().Path()) && p.analyzed(obj.Pkg()) {
			s = &Summary{} // it was looked at: nothing to say
		}
		p.facts[fn] = s
		return s
	}
	// wrappers that the compiler makes have bodies too
	if len(fn.Blocks) > 0 && fn.Synthetic != "" && fn.Pkg == nil {
		fi := &fnInfo{fn: fn, sum: &Summary{Params: len(fn.Params)}}
		p.fns[fn] = fi
		p.analyze(fi)
		return fi.sum
	}
	return nil
}

func (p *pass) analyzed(pkg *types.Package) bool {
	var f PackageFact
	return p.ImportPackageFact(pkg, &f)
}

// boundMethod returns the method that a method value's closure calls.
func (p *pass) boundMethod(fn *ssa.Function) *ssa.Function {
	if !strings.HasPrefix(fn.Synthetic, "bound method wrapper") {
		return nil
	}
	if m, ok := p.bound[fn]; ok {
		return m
	}
	m := p.declared(fn)
	p.bound[fn] = m
	return m
}

// declared returns the method that a wrapper or thunk calls, as it is declared: for all
// instances of a generic type. It is nil for a method of an interface.
func (p *pass) declared(fn *ssa.Function) *ssa.Function {
	if obj, ok := fn.Object().(*types.Func); ok {
		return p.prog.FuncValue(obj.Origin())
	}
	return nil
}

// collect finds the functions of the package, and how they are used.
func (p *pass) collect() {
	var add func(fn *ssa.Function)
	add = func(fn *ssa.Function) {
		if fn == nil || p.fns[fn] != nil || len(fn.Blocks) == 0 {
			return
		}
		fi := &fnInfo{fn: fn, sum: &Summary{Params: len(fn.Params)}}
		p.fns[fn] = fi
		p.list = append(p.list, fi)
		for _, a := range fn.AnonFuncs {
			add(a)
		}
	}
	if init := p.spkg.Func("init"); init != nil {
		add(init)
	}
	for _, f := range p.Files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := p.TypesInfo.Defs[fd.Name].(*types.Func); ok {
					add(p.prog.FuncValue(obj))
				}
			}
		}
	}
	for _, fi := range p.list {
		for _, b := range fi.fn.Blocks {
			for _, i := range b.Instrs {
				p.collectInstr(fi.fn, i)
			}
		}
	}
	for _, fi := range p.list {
		p.classify(fi)
	}
}

func (p *pass) collectInstr(in *ssa.Function, i ssa.Instruction) {
	var callee ssa.Value
	if c, ok := i.(ssa.CallInstruction); ok {
		if fn := c.Common().StaticCallee(); fn != nil {
			callee = c.Common().Value
			if o := fn.Origin(); o != nil {
				fn = o
			}
			if fi := p.fns[fn]; fi != nil {
				fi.callers++
			}
		}
	}
	switch i := i.(type) {
	case *ssa.Store:
		p.stored(i.Addr, i.Val)
	case *ssa.MapUpdate:
		p.stored(i.Map, i.Value)
	case *ssa.MakeInterface:
		t := i.Type().Underlying()
		p.made[t] = append(p.made[t], i.X.Type())
	}
	for _, op := range i.Operands(nil) {
		v := *op
		if v == nil || v == callee && !isArg(i, v) {
			continue
		}
		var fn *ssa.Function
		switch v := v.(type) {
		case *ssa.Function:
			fn = v
			if _, ok := i.(*ssa.MakeClosure); ok {
				if m := p.boundMethod(fn); m != nil {
					fn = m
				} else {
					continue
				}
			}
		case *ssa.MakeClosure:
			fn = v.Fn.(*ssa.Function)
		}
		if fn != nil && strings.Contains(fn.Synthetic, "thunk") {
			fn = p.declared(fn)
		}
		if fn == nil {
			continue
		}
		if o := fn.Origin(); o != nil {
			fn = o
		}
		if fi := p.fns[fn]; fi != nil {
			fi.asValue = true
			fi.valueIn = append(fi.valueIn, in)
		}
	}
}

func isArg(i ssa.Instruction, v ssa.Value) bool {
	for _, a := range i.(ssa.CallInstruction).Common().Args {
		if a == v {
			return true
		}
	}
	return false
}

// varKey names the variable or field that an address or a loaded value belongs to.
func varKey(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Global:
		return v.Package().Pkg.Path() + "." + v.Name()
	case *ssa.FieldAddr:
		return typeKey(v.X.Type()) + fieldName(v.X.Type(), v.Field)
	case *ssa.Field:
		return typeKey(v.X.Type()) + fieldName(v.X.Type(), v.Field)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return varKey(v.X)
		}
	case *ssa.IndexAddr:
		if k := varKey(v.X); k != "" {
			return k + "[]"
		}
	case *ssa.Lookup:
		if k := varKey(v.X); k != "" {
			return k + "[]"
		}
	case *ssa.Extract:
		if l, ok := v.Tuple.(*ssa.Lookup); ok && v.Index == 0 {
			return varKey(l)
		}
	case *ssa.ChangeInterface:
		return varKey(v.X)
	}
	return ""
}

// stored notes functions and concrete types that variables and fields are given.
func (p *pass) stored(addr, v ssa.Value) {
	key := varKey(addr)
	if key == "" {
		return
	}
	if _, ok := addr.Type().Underlying().(*types.Map); ok {
		key += "[]"
	}
	switch v := v.(type) {
	case *ssa.Function:
		p.globalFuncs[key] = append(p.globalFuncs[key], v)
	case *ssa.MakeClosure:
		p.globalFuncs[key] = append(p.globalFuncs[key], v.Fn.(*ssa.Function))
	case *ssa.ChangeType:
		p.stored(addr, v.X)
	case *ssa.MakeInterface:
		p.ifaceTypes[key] = append(p.ifaceTypes[key], v.X.Type())
	}
}

// funcsIn returns the functions that a variable or field may hold, if they are few.
func (p *pass) funcsIn(v ssa.Value) []*ssa.Function {
	fns := p.globalFuncs[varKey(v)]
	if len(fns) > 3 {
		return nil
	}
	return fns
}

// implementations returns the methods that a call of an interface's method may run, and
// whether these are the types that the value really has.
func (p *pass) implementations(v ssa.Value, m *types.Func, recv val) ([]*ssa.Function, bool) {
	var found []types.Type
	sure := true
	if mi, ok := v.(*ssa.MakeInterface); ok {
		found = []types.Type{mi.X.Type()}
	} else if ts := p.ifaceTypes[varKey(v)]; len(ts) > 0 && len(ts) <= 3 {
		found = ts
	} else {
		sure = false
		it, ok := v.Type().Underlying().(*types.Interface)
		if !ok || it.NumMethods() == 0 {
			return nil, false
		}
		if n, ok := types.Unalias(v.Type()).(*types.Named); !ok || n.Obj().Pkg() == nil || n.Obj().Pkg() != p.Pkg {
			return nil, false
		}
		for t, ts := range p.made {
			if types.Identical(t, it) {
				found = append(found, ts...)
			}
		}
		if len(found) == 0 || len(found) > 6 {
			return nil, false
		}
	}
	var fns []*ssa.Function
	seen := map[*ssa.Function]bool{}
	for _, t := range found {
		if types.IsInterface(t) {
			continue
		}
		sel := p.prog.MethodSets.MethodSet(t).Lookup(m.Pkg(), m.Name())
		if sel == nil {
			continue
		}
		fn := p.prog.MethodValue(sel)
		if fn != nil && !seen[fn] {
			seen[fn] = true
			fns = append(fns, fn)
		}
	}
	return fns, sure
}

// classify decides whether a function's contexts come from unknown callers, which makes it
// a handler, and whether what it captures outlives a request.
func (p *pass) classify(fi *fnInfo) {
	fn := fi.fn
	has := false
	for _, v := range fn.Params {
		has = has || len(p.lentPaths(v.Type(), 2)) > 0
	}
	if !has {
		return
	}
	obj, _ := fn.Object().(*types.Func)
	switch {
	case fn.Parent() != nil:
		fi.reports = fi.asValue
		fi.freeLong = fi.asValue && !p.inRequest(fn.Parent())
	case fi.asValue:
		fi.reports = true
		fi.recvLong = fn.Signature.Recv() != nil
		for _, f := range fi.valueIn {
			if p.inRequest(f) {
				fi.recvLong = false
			}
		}
	case p.isHandler(fn) && obj != nil && (obj.Exported() || fi.callers == 0):
		fi.reports = true
		fi.recvLong = fn.Signature.Recv() != nil && fi.callers == 0
	case fi.callers == 0 && obj != nil && !obj.Exported():
		fi.reports = true
	}
}

// inRequest says whether fn, or a function around it, has a context.
func (p *pass) inRequest(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		for _, v := range fn.Params {
			if len(p.lentPaths(v.Type(), 2)) > 0 {
				return true
			}
		}
	}
	return false
}

// isHandler says whether fn's only parameter is a context and it returns at most an error.
func (p *pass) isHandler(fn *ssa.Function) bool {
	sig := fn.Signature
	if sig.Params().Len() != 1 || sig.Results().Len() > 1 {
		return false
	}
	if _, ok := p.requestScoped(sig.Params().At(0).Type()); !ok {
		if len(p.lentPaths(sig.Params().At(0).Type(), 1)) == 0 {
			return false
		}
	}
	return sig.Results().Len() == 0 || isError(sig.Results().At(0).Type())
}

// analyze computes a function's summary. Functions that call each other get it in rounds.
func (p *pass) analyze(fi *fnInfo) {
	if fi.busy || fi.round == p.round() {
		return
	}
	fi.busy = true
	in := p.newInterp(fi)
	s := in.follow()
	if s.size() != fi.sum.size() {
		p.changed = true
	}
	fi.sum = s
	fi.last = in
	fi.round = p.round()
	fi.busy = false
}

func (p *pass) round() int { return p.rounds }

// debug makes mistakes of the analyzer itself fatal, for its tests.
var debug = os.Getenv("GALEVET_DEBUG") != ""

// follow runs in and returns the summary. If the analyzer itself fails, nothing is known.
func (in *interp) follow() (s *Summary) {
	if !debug {
		defer func() {
			if recover() != nil {
				in.giveUp()
				s = &Summary{Params: len(in.fn.Params)}
			}
		}()
	}
	in.run()
	return in.summarize()
}
