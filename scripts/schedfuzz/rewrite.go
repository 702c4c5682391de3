package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/galehttp/gale/tests/overlay"
)

// The names that rewritten files have of package delay and of its variables.
const (
	delayName = "schedfuzz"
	delayPath = overlay.Module + "/scripts/schedfuzz/delay"
)

// operations are the functions and methods of other packages that synchronize goroutines, or
// end a wait of one. No names means all of a package.
var operations = map[string][]string{
	"sync":        nil,
	"sync/atomic": nil,
	"time":        {"AfterFunc", "Stop", "Reset"},
	"context":     {"AfterFunc"},
	"net":         connMethods,
	"crypto/tls":  connMethods,
}

var connMethods = []string{
	"Read", "Write", "WriteTo", "Close", "CloseRead", "CloseWrite", "Accept", "Handshake", "HandshakeContext",
	"SetDeadline", "SetReadDeadline", "SetWriteDeadline",
}

// rewriter puts delays into a file: before each operation, as a part of its expression, and at
// the beginning of goroutines.
type rewriter struct {
	*overlay.File
	rel string // its path in the module

	names    []string
	function string                // that is declared around the node
	skip     map[ast.Node]bool     // what has its delay already
	labels   map[ast.Stmt]ast.Stmt // statements and their labels
}

func (r *rewriter) rewrite() {
	r.skip, r.labels = map[ast.Node]bool{}, map[ast.Stmt]ast.Stmt{}
	for _, d := range r.Syntax.Decls {
		r.function = "var"
		if f, ok := d.(*ast.FuncDecl); ok {
			r.function = functionName(f)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			r.node(n)
			return true
		})
	}
	if len(r.names) == 0 {
		return
	}
	r.Import(delayName, delayPath)
	for i, name := range r.names {
		r.Append(fmt.Sprintf("\nvar %s = %s.New(%q)", r.variable(i), delayName, name))
	}
	r.Append("\n")
}

// functionName returns TYPE.METHOD, or the name of a function.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	return types.ExprString(t) + "." + f.Name.Name
}

// site names an operation and returns the variable of its site.
func (r *rewriter) site(op string) string {
	base := r.rel + "#" + r.function + "#" + op
	name := base
	for i := 2; slices.Contains(r.names, name); i++ {
		name = base + "#" + strconv.Itoa(i)
	}
	r.names = append(r.names, name)
	return r.variable(len(r.names) - 1)
}

// variable returns the name of the variable of an operation. It depends on no other file, so that
// a change of one keeps what the go command has built of others.
func (r *rewriter) variable(i int) string {
	base := strings.TrimSuffix(r.rel[strings.LastIndexByte(r.rel, '/')+1:], ".go")
	return fmt.Sprintf("%s_%s_%d", delayName, strings.Map(letters, base), i)
}

// letters replaces what a name may not have.
func letters(c rune) rune {
	if unicode.IsLetter(c) || unicode.IsDigit(c) {
		return c
	}
	return '_'
}

// wrap delays the evaluation of e. prefix is "&" if its address is wanted.
func (r *rewriter) wrap(e ast.Expr, site, prefix string) {
	r.Wrap(e, delayName+".Before("+site+", "+prefix, ")")
}

// begin delays the beginning of a goroutine that calls the function e.
func (r *rewriter) begin(e ast.Expr) {
	sig, ok := r.Info.TypeOf(e).Underlying().(*types.Signature)
	if !ok || sig.Results().Len() > 0 || sig.Variadic() || sig.Params().Len() > 3 {
		return
	}
	r.Wrap(e, fmt.Sprintf("%s.Begin%d(%s, ", delayName, sig.Params().Len(), r.site("begin")), ")")
}

func (r *rewriter) node(n ast.Node) {
	if n == nil || r.skip[n] {
		return
	}
	switch n := n.(type) {
	case *ast.LabeledStmt:
		r.labels[n.Stmt] = n
	case *ast.SelectStmt:
		r.statement(n, "select")
		for _, c := range n.Body.List {
			r.skip[communication(c.(*ast.CommClause).Comm)] = true
		}
	case *ast.GoStmt:
		r.statement(n, "go")
		r.skip[n.Call] = true
		r.begin(n.Call.Fun)
	case *ast.DeferStmt:
		if op := r.operation(n.Call); op != "" {
			r.skip[n.Call] = true
			r.Close(n, "; defer "+r.site(op)+".Delay()") // it runs before the other
		}
	case *ast.SendStmt:
		r.wrap(n.Chan, r.site("send"), "")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.wrap(n.X, r.site("receive"), "")
		}
	case *ast.RangeStmt:
		if _, ok := r.Info.TypeOf(n.X).Underlying().(*types.Chan); ok {
			site := r.site("range")
			r.wrap(n.X, site, "")
			r.Insert(n.Body.Lbrace+1, site+".Delay();")
		}
	case *ast.CallExpr:
		r.call(n)
	}
}

// statement puts a delay before a statement.
func (r *rewriter) statement(s ast.Stmt, op string) {
	at := s
	for r.labels[at] != nil {
		at = r.labels[at]
	}
	r.Insert(at.Pos(), r.site(op)+".Delay(); ")
}

// communication returns the send or receive of a case of select.
func communication(s ast.Stmt) ast.Node {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return ast.Unparen(s.X)
	case *ast.AssignStmt:
		return ast.Unparen(s.Rhs[0])
	}
	return s // a send, or default
}

func (r *rewriter) call(n *ast.CallExpr) {
	op := r.operation(n)
	if op == "" {
		return
	}
	site := r.site(op)
	fun := ast.Unparen(n.Fun)
	sel, _ := fun.(*ast.SelectorExpr)
	switch s := r.Info.Selections[sel]; {
	case op == "close":
		r.wrap(n.Args[0], site, "")
	case sel != nil && s != nil && s.Kind() == types.MethodVal:
		r.wrap(sel.X, site, r.address(sel.X))
	default:
		r.wrap(n.Fun, site, "")
	}
	if op == "AfterFunc" || op == "Go" {
		r.begin(n.Args[len(n.Args)-1])
	}
}

// address returns "&" if a method must get the address of its receiver, because it changes it.
func (r *rewriter) address(e ast.Expr) string {
	tv := r.Info.Types[e]
	switch tv.Type.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return ""
	}
	if !tv.Addressable() {
		return ""
	}
	return "&"
}

// operation returns the name of the operation that a call is, or "".
func (r *rewriter) operation(n *ast.CallExpr) string {
	fun := ast.Unparen(n.Fun)
	tv := r.Info.Types[fun]
	if tv.IsType() {
		return ""
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return ""
	}
	if tv.IsBuiltin() {
		if id.Name == "close" {
			return "close"
		}
		return ""
	}
	if name := tv.Type.String(); name == "context.CancelFunc" || name == "context.CancelCauseFunc" {
		return "cancel"
	}
	callee, ok := r.Info.Uses[id].(*types.Func)
	if !ok || callee.Pkg() == nil {
		return ""
	}
	names, ok := operations[callee.Pkg().Path()]
	if !ok || names != nil && !slices.Contains(names, callee.Name()) || ofPool(callee) {
		return ""
	}
	return callee.Name()
}

// ofPool reports whether f is a method of sync.Pool, on whose order nothing may depend, or a
// function of package sync that only makes another one.
func ofPool(f *types.Func) bool {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Pkg().Path() == "sync"
	}
	return strings.HasSuffix(recv.Type().String(), "sync.Pool")
}
