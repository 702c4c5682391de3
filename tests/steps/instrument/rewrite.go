package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/galehttp/gale/tests/overlay"
)

// counter is the name of package count in rewritten files.
const counter = "stepcount"

// rewriter makes the edits of one file.
type rewriter struct {
	*overlay.File
	// replaced holds one name of each package with functions that package count replaces,
	// so that the import stays used.
	replaced map[string]string
	// plain are expressions that cost nothing by themselves, since the compiler optimizes
	// them, such as string(b) in a comparison.
	plain map[ast.Expr]bool
}

// wrap turns e into f(e).
func (r *rewriter) wrap(e ast.Expr, f, rest string) {
	r.Wrap(e, counter+"."+f+"(", rest+")")
}

func (r *rewriter) rewrite() {
	r.plain = map[ast.Expr]bool{}
	r.Import(counter, own+"/count")
	ast.Inspect(r.Syntax, func(n ast.Node) bool {
		r.node(n)
		return true
	})
	r.Append(fmt.Sprintf("\nvar _ = %s.Add\n", counter))
	for _, name := range r.replaced {
		r.Append(fmt.Sprintf("var _ = %s\n", name))
	}
}

func (r *rewriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		r.body(n.Body)
	case *ast.FuncLit:
		r.body(n.Body)
	case *ast.ForStmt:
		r.body(n.Body)
	case *ast.RangeStmt:
		r.body(n.Body)
	case *ast.SwitchStmt:
		r.plain[n.Tag] = n.Tag != nil
	case *ast.BinaryExpr:
		r.binary(n)
	case *ast.AssignStmt:
		if n.Tok == token.ADD_ASSIGN && isString(r.Info.TypeOf(n.Lhs[0])) {
			r.wrap(n.Rhs[0], "Cat", "")
			r.Insert(n.Rhs[0].Pos(), r.Source(n.Lhs[0])+", ")
		}
	case *ast.CallExpr:
		r.call(n)
	}
}

func (r *rewriter) body(b *ast.BlockStmt) {
	if b != nil {
		r.Insert(b.Lbrace+1, " "+counter+".Add(1);")
	}
}

func (r *rewriter) binary(n *ast.BinaryExpr) {
	if r.constant(n) || !isString(r.Info.TypeOf(n.X)) {
		return
	}
	switch n.Op {
	case token.ADD:
		if !r.plain[n] {
			r.wrap(n, "Str", "")
		}
		r.plain[n.X], r.plain[n.Y] = true, true // the whole sum is counted
	case token.EQL, token.NEQ:
		r.plain[n.X], r.plain[n.Y] = true, true
		if r.constant(n.X) || r.constant(n.Y) {
			return
		}
		not := ""
		if n.Op == token.NEQ {
			not = "!"
		}
		r.Insert(n.Pos(), not+counter+".Equal(")
		r.Replace(n.OpPos, n.OpPos+2, ",")
		r.Close(n, ")")
	}
}

func (r *rewriter) call(n *ast.CallExpr) {
	fun := ast.Unparen(n.Fun)
	tv := r.Info.Types[fun]
	switch {
	case tv.IsType():
		r.conversion(n, tv.Type)
	case tv.IsBuiltin():
		if id, ok := fun.(*ast.Ident); ok { // otherwise it is a function of unsafe
			r.builtin(n, id.Name)
		}
	default:
		r.foreign(n, fun)
	}
}

// conversion counts conversions that copy.
func (r *rewriter) conversion(n *ast.CallExpr, to types.Type) {
	arg := n.Args[0]
	from := r.Info.TypeOf(arg)
	if r.plain[n] || r.constant(arg) {
		return
	}
	if isString(to) && isSlice(from) {
		r.wrap(arg, "Len", "")
	} else if isSlice(to) && isString(from) {
		r.wrap(arg, "Str", "")
	}
}

func (r *rewriter) builtin(n *ast.CallExpr, name string) {
	switch name {
	case "copy":
		r.wrap(n, "Int", "")
	case "clear":
		if isSlice(r.Info.TypeOf(n.Args[0])) {
			r.wrap(n.Args[0], "Len", "")
		}
	case "make":
		if size := n.Args[len(n.Args)-1]; len(n.Args) > 1 && !r.constant(size) {
			r.wrap(size, "Int", "")
		}
	case "append":
		r.appendCall(n)
	}
}

func (r *rewriter) appendCall(n *ast.CallExpr) {
	switch {
	case !n.Ellipsis.IsValid():
		r.wrap(n.Args[0], "Base", fmt.Sprintf(", %d", len(n.Args)-1))
	case isString(r.Info.TypeOf(n.Args[1])):
		r.Replace(n.Fun.Pos(), n.Fun.End(), counter+".AppendString")
		r.Replace(n.Ellipsis, n.Ellipsis+3, "")
	default:
		r.Replace(n.Fun.Pos(), n.Fun.End(), counter+".Append")
		r.Replace(n.Ellipsis, n.Ellipsis+3, "")
	}
}

// foreign counts the lengths of the arguments of a function that is not rewritten itself,
// unless package count has its own version.
func (r *rewriter) foreign(n *ast.CallExpr, fun ast.Expr) {
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return
	}
	callee, ok := r.Info.Uses[id].(*types.Func)
	if !ok || callee.Pkg() == nil || isOwn(callee.Pkg().Path()) {
		return // a variable's function counts its own steps
	}
	name := callee.Name()
	path := callee.Pkg().Path()
	if slices.Contains([]string{"bytes", "strings", "slices"}, path) && callee.Signature().Recv() == nil {
		version := strings.ToUpper(path[:1]) + path[1:] + name
		if versions[version] {
			r.replaced[path] = path + "." + keeps[path]
			r.Replace(fun.Pos(), fun.End(), counter+"."+version)
			return
		}
	}
	if path == "encoding/binary" {
		return // it loads one word of its argument
	}
	if strings.HasPrefix(name, "Read") && name != "ReadAll" {
		return // it gets room and fills less of it; the copies are counted elsewhere
	}
	for _, arg := range n.Args {
		switch t := r.Info.TypeOf(arg); {
		case r.constant(arg):
		case isString(t):
			r.wrap(arg, "Str", "")
		case isSlice(t):
			if !isNil(r.Info, arg) {
				r.wrap(arg, "Len", "")
			}
		}
	}
}

// keeps has a name of each package, to keep its import used.
var keeps = map[string]string{"bytes": "Compare", "strings": "Compare", "slices": "Sort[[]int]"}

// versions are the functions for which package count has its own version.
var versions = func() map[string]bool {
	m := map[string]bool{}
	for _, v := range strings.Fields(`
		BytesEqual BytesIndexByte BytesLastIndexByte BytesIndex BytesLastIndex BytesIndexAny BytesContains
		BytesContainsAny BytesCut BytesTrim BytesTrimLeft BytesTrimRight BytesTrimSpace BytesHasPrefix BytesHasSuffix
		BytesEqualFold StringsIndexByte StringsLastIndexByte StringsIndex StringsIndexAny StringsContains
		StringsContainsAny StringsCut StringsCutPrefix StringsTrim StringsTrimLeft StringsTrimRight StringsTrimSpace
		StringsTrimPrefix StringsTrimSuffix StringsHasPrefix StringsHasSuffix StringsEqualFold SlicesGrow SlicesDelete`) {
		m[v] = true
	}
	return m
}()

func (r *rewriter) constant(e ast.Expr) bool { return r.Info.Types[e].Value != nil }

func isNil(info *types.Info, e ast.Expr) bool { return info.Types[e].IsNil() }

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isSlice(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := t.(*types.TypeParam); ok {
		return false
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}
