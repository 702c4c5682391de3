package lifetimes

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
)

// fixes returns edits that make what is reported right, as far as that can be done safely.
func (p *pass) fixes(in *interp, pos token.Pos, pl *place, t thing) []analysis.SuggestedFix {
	file := p.fileAt(pos)
	if file == nil {
		return nil
	}
	if c, ok := t.src.(*ssa.Call); ok {
		return p.copyFix(c)
	}
	if pl == nil || t.derived() {
		return nil
	}
	param, ok := t.r.val.(*ssa.Parameter)
	if !ok || t.path != "" {
		return nil
	}
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	if fix := p.contextFix(path, param); fix != nil {
		return fix
	}
	switch pl.kind {
	case "goroutine", "global", "channel", "timer":
		return p.detachFix(path, pos, param)
	}
	return nil
}

func (p *pass) fileAt(pos token.Pos) *ast.File {
	for _, f := range p.Files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}

// copyFix copies what a call returns.
func (p *pass) copyFix(c *ssa.Call) []analysis.SuggestedFix {
	call := p.calls[c.Pos()]
	if call == nil || p.fixed[call] {
		return nil
	}
	typ := p.TypesInfo.TypeOf(call)
	if typ == nil {
		return nil
	}
	file := p.fileAt(call.Pos())
	var before, after string
	switch types.TypeString(typ, nil) {
	case "[]byte", "[]uint8":
		before, after = "append([]byte(nil), ", "...)"
		if p.imports(file, "bytes", call.Pos()) {
			before, after = "bytes.Clone(", ")"
		} else if !p.universe("append", call.Pos()) || !p.universe("byte", call.Pos()) || !p.universe("nil", call.Pos()) {
			return nil
		}
	case "string":
		before, after = "string([]byte(", "))"
		if p.imports(file, "strings", call.Pos()) {
			before, after = "strings.Clone(", ")"
		} else if !p.universe("string", call.Pos()) || !p.universe("byte", call.Pos()) {
			return nil
		}
	default:
		return nil
	}
	p.fixed[call] = true
	return []analysis.SuggestedFix{{
		Message: "copy it",
		TextEdits: []analysis.TextEdit{
			{Pos: call.Pos(), End: call.Pos(), NewText: []byte(before)},
			{Pos: call.End(), End: call.End(), NewText: []byte(after)},
		},
	}}
}

// imports says whether name is at pos the package of the standard library with that path.
func (p *pass) imports(file *ast.File, name string, pos token.Pos) bool {
	obj := p.lookup(name, pos)
	pn, ok := obj.(*types.PkgName)
	return file != nil && ok && pn.Imported().Path() == name
}

// universe says whether name is at pos what the language declares.
func (p *pass) universe(name string, pos token.Pos) bool {
	obj := p.lookup(name, pos)
	return obj != nil && obj.Parent() == types.Universe
}

func (p *pass) lookup(name string, pos token.Pos) types.Object {
	s := p.Pkg.Scope().Innermost(pos)
	if s == nil {
		return nil
	}
	_, obj := s.LookupParent(name, pos)
	return obj
}

// contextFix passes ctx.Context() where ctx is passed as a context.Context.
func (p *pass) contextFix(path []ast.Node, param *ssa.Parameter) []analysis.SuggestedFix {
	if !hasMethod(param.Type(), "Context", "context.Context") {
		return nil
	}
	for _, n := range path {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		sig, ok := p.TypesInfo.TypeOf(call.Fun).(*types.Signature)
		if !ok || sig.Variadic() {
			return nil
		}
		for i, a := range call.Args {
			id, ok := a.(*ast.Ident)
			if !ok || p.TypesInfo.Uses[id] != param.Object() || i >= sig.Params().Len() {
				continue
			}
			if typeKey(sig.Params().At(i).Type()) != "context.Context" {
				continue
			}
			return []analysis.SuggestedFix{{
				Message:   "pass " + id.Name + ".Context(), which may be kept",
				TextEdits: []analysis.TextEdit{{Pos: id.End(), End: id.End(), NewText: []byte(".Context()")}},
			}}
		}
		return nil
	}
	return nil
}

// detachFix calls Detach before the statement.
func (p *pass) detachFix(path []ast.Node, pos token.Pos, param *ssa.Parameter) []analysis.SuggestedFix {
	if !hasMethod(param.Type(), "Detach", "") || p.lookup(param.Name(), pos) != param.Object() {
		return nil
	}
	for i, n := range path {
		stmt, ok := n.(ast.Stmt)
		if !ok || i+1 >= len(path) {
			continue
		}
		switch n.(type) {
		case *ast.CommClause, *ast.CaseClause:
			continue // the statement is the one around
		}
		switch path[i+1].(type) {
		case *ast.BlockStmt, *ast.CommClause, *ast.CaseClause:
		default:
			continue
		}
		if c, ok := path[i+1].(*ast.CommClause); ok && c.Comm == stmt {
			continue
		}
		if p.detached[param] {
			return nil
		}
		p.detached[param] = true
		return []analysis.SuggestedFix{{
			Message:   "call " + param.Name() + ".Detach() before",
			TextEdits: []analysis.TextEdit{{Pos: stmt.Pos(), End: stmt.Pos(), NewText: []byte(param.Name() + ".Detach()\n")}},
		}}
	}
	return nil
}

// hasMethod says whether typ has a method without parameters, and with a result of a type
// if that isn't "".
func hasMethod(typ types.Type, name, result string) bool {
	obj, _, _ := types.LookupFieldOrMethod(typ, true, nil, name)
	f, ok := obj.(*types.Func)
	if !ok {
		return false
	}
	sig := f.Type().(*types.Signature)
	if sig.Params().Len() != 0 {
		return false
	}
	return result == "" || sig.Results().Len() == 1 && typeKey(sig.Results().At(0).Type()) == result
}
