package sites

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/galehttp/gale/tests/overlay"
)

// counter is the name of package count in rewritten files.
const counter = "galecount"

// entries are the functions that goroutines of a loop begin with, by package and name,
// and how they name their loop.
var entries = map[string]string{module + "/internal/engine.worker.run": "wk.l"}

// rewriter makes the edits of one file.
type rewriter struct {
	*overlay.File
	at    string // the file
	plain bool
	sites *[]Site
	fun   string // the function around the node
}

// site adds a site and returns its number.
func (r *rewriter) site(at token.Pos, word, kind, op string) int {
	*r.sites = append(*r.sites, Site{At: fmt.Sprintf("%s:%d", r.at, r.Line(at)), Word: word, Kind: kind, Op: op})
	return len(*r.sites) - 1
}

func (r *rewriter) rewrite() {
	for _, d := range r.Syntax.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Body == nil {
			continue
		}
		r.fun = fun.Name.Name
		if fun.Recv != nil {
			r.fun = typeName(r.Info.TypeOf(fun.Recv.List[0].Type)) + "." + r.fun
		}
		if loop := entries[r.Package.Path()+"."+r.fun]; loop != "" {
			r.Insert(fun.Body.Lbrace+1, fmt.Sprintf(" defer %s.Enter(%s)();", counter, loop))
		}
		ast.Inspect(fun.Body, func(n ast.Node) bool {
			r.node(n)
			return true
		})
	}
	if r.IsEdited() {
		r.Import(counter, counted)
	}
}

func (r *rewriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		r.call(n)
	case *ast.SendStmt:
		r.channel(n.Chan, "send")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.channel(n.X, "receive")
		}
	case *ast.RangeStmt:
		if _, ok := r.Info.TypeOf(n.X).Underlying().(*types.Chan); ok {
			r.channel(n.X, "range")
		}
	case *ast.BlockStmt:
		r.statements(n.List)
	case *ast.CaseClause:
		r.statements(n.Body)
	case *ast.CommClause:
		r.statements(n.Body)
	}
}

func (r *rewriter) channel(ch ast.Expr, op string) {
	n := r.site(ch.Pos(), r.name(ch), "channel", op)
	r.Wrap(ch, counter+".C(", fmt.Sprintf(", %d)", n))
}

func (r *rewriter) call(n *ast.CallExpr) {
	switch fun := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		if _, ok := r.Info.Uses[fun].(*types.Builtin); ok && fun.Name == "close" {
			r.channel(n.Args[0], "close")
		}
	case *ast.SelectorExpr:
		f, ok := r.Info.Uses[fun.Sel].(*types.Func)
		if !ok || f.Pkg() == nil {
			return
		}
		if f.Signature().Recv() != nil {
			r.method(n, fun, f)
			return
		}
		switch path := f.Pkg().Path(); {
		case path == "sync/atomic":
			kind, count := "atomic", ".W("
			if isLoad(f.Name()) {
				count = ".R("
			}
			r.Wrap(n.Args[0], counter+count, fmt.Sprintf(", %d)", r.site(fun.Sel.Pos(), r.name(n.Args[0]), kind, f.Name())))
		case path == "time" && (f.Name() == "AfterFunc" || f.Name() == "NewTimer"):
			r.Wrap(n.Args[0], counter+".T(", fmt.Sprintf(", %d)", r.site(fun.Sel.Pos(), "time.Timer of "+r.fun, "timer", f.Name())))
		}
	}
}

func isLoad(name string) bool { return len(name) >= 4 && name[:4] == "Load" }

// method rewrites the receiver of a call of a method of sync, sync/atomic or time.Timer.
// The method may be promoted from embedded fields.
func (r *rewriter) method(call *ast.CallExpr, fun *ast.SelectorExpr, f *types.Func) {
	sel := r.Info.Selections[fun]
	if sel == nil || sel.Kind() != types.MethodVal {
		return
	}
	owner := typeName(f.Signature().Recv().Type())
	kind, count := "", ".W"
	switch f.Pkg().Path() {
	case "sync/atomic":
		if kind = "atomic"; isLoad(f.Name()) {
			count = ".R"
		}
	case "sync":
		switch owner {
		case "Pool":
			if f.Name() == "Get" {
				r.Wrap(call, counter+".G(", fmt.Sprintf(", %d)", r.site(fun.Sel.Pos(), r.name(fun.X), "pool", "Get")))
				return
			}
			kind, count = "pool", ".T"
		case "Map":
			if kind = "lock"; isLoad(f.Name()) || f.Name() == "Range" {
				count = ".R"
			}
		case "Once":
			kind, count = "lock", ".R" // once it is done
		case "Locker":
			return
		default:
			kind = "lock"
		}
	case "time":
		if owner != "Timer" {
			return
		}
		kind, count = "timer", ".T"
	default:
		return
	}
	path, isPointer := r.embedded(sel)
	n := r.site(fun.Sel.Pos(), r.name(fun.X)+path, kind, f.Name())
	before, after := counter+count+"(&(", path+fmt.Sprintf("), %d)", n)
	if isPointer {
		before, after = counter+count+"((", path+fmt.Sprintf("), %d)", n)
	}
	r.Wrap(fun.X, before, after)
}

// embedded returns the names of the embedded fields through which a method was found, and
// whether the last of them, or the receiver if there are none, is a pointer.
func (r *rewriter) embedded(sel *types.Selection) (path string, isPointer bool) {
	t := sel.Recv()
	for _, i := range sel.Index()[:len(sel.Index())-1] {
		f := under(t).(*types.Struct).Field(i)
		path += "." + f.Name()
		t = f.Type()
	}
	_, isPointer = types.Unalias(t).Underlying().(*types.Pointer)
	return path, isPointer
}

// under returns the underlying type of t, or of what t points to.
func under(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}

// typeName returns the name of t, or of what t points to, without a package.
func typeName(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// name names the word that e is: by package, type and field, or by function and variable.
func (r *rewriter) name(e ast.Expr) string {
	pkg := r.Package.Name() + "."
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return r.name(e.X)
	case *ast.StarExpr:
		return r.name(e.X)
	case *ast.IndexExpr:
		return r.name(e.X) + "[]"
	case *ast.SelectorExpr:
		if sel := r.Info.Selections[e]; sel != nil {
			if owner := typeName(sel.Recv()); owner != "" {
				return pkg + owner + "." + e.Sel.Name
			}
			return r.name(e.X) + "." + e.Sel.Name
		}
		return r.Source(e) // of another package
	case *ast.Ident:
		if v, ok := r.Info.Uses[e].(*types.Var); ok && v.Parent() == r.Package.Scope() {
			return pkg + e.Name
		}
		if owner := typeName(r.Info.TypeOf(e)); owner != "" && r.Info.TypeOf(e) != nil {
			if o := types.Unalias(r.Info.TypeOf(e)); isOwn(o) {
				return pkg + owner
			}
		}
		return pkg + r.fun + " " + e.Name
	}
	return pkg + r.fun + " " + r.Source(e)
}

// isOwn reports whether t is a type of the library, or a pointer to one.
func isOwn(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() != nil && len(n.Obj().Pkg().Path()) >= len(module) && n.Obj().Pkg().Path()[:len(module)] == module
}

// statements counts plain writes among them: assignments to fields through a pointer, or
// to package variables and parts of them. An assignment with a call on its left side, or
// in the header of an if or for, isn't seen.
func (r *rewriter) statements(list []ast.Stmt) {
	if !r.plain {
		return
	}
	for _, s := range list {
		var targets []ast.Expr
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				targets = s.Lhs
			}
		case *ast.IncDecStmt:
			targets = []ast.Expr{s.X}
		}
		for _, e := range targets {
			if e = ast.Unparen(e); r.isShared(e) {
				r.Insert(s.Pos(), fmt.Sprintf("%s.W(&(%s), %d); ", counter, r.Source(e), r.site(e.Pos(), r.name(e), "plain", "=")))
			}
		}
	}
}

// isShared reports whether e is a field that is reached through a pointer, or a package
// variable, and can be evaluated twice.
func (r *rewriter) isShared(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		v, ok := r.Info.Uses[id].(*types.Var)
		return ok && v.Parent() == r.Package.Scope()
	}
	shared := false
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			sel := r.Info.Selections[x]
			if sel == nil || sel.Kind() != types.FieldVal {
				return false
			}
			if _, ok := r.Info.TypeOf(x.X).Underlying().(*types.Pointer); ok {
				shared = true
			}
			e = x.X
		case *ast.StarExpr:
			shared = true
			e = x.X
		case *ast.Ident:
			v, ok := r.Info.Uses[x].(*types.Var)
			return shared || ok && v.Parent() == r.Package.Scope()
		default:
			return false
		}
	}
}
