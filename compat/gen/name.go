package main

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A kind says which file a name goes into.
type kind int

const (
	constKind kind = iota
	typeKind
	varKind
	funcKind
	kinds
)

// A name is the declaration of one exported name, as the module has it.
type name struct {
	kind    kind
	name    string
	text    string   // without a comment
	imports []string // paths of what text refers to, except the package of Gale
	copied  bool     // of variables: not the same memory
	// deprecated says why not to use it, if so.
	deprecated string
}

// A writer turns declarations of one package of Gale into those of its
// counterpart.
type writer struct {
	pkg     *types.Package // of Gale
	to      string         // path of the counterpart
	imports map[string]bool
}

// declare returns the declaration for obj.
func (w *writer) declare(obj types.Object) (*name, error) {
	w.imports = map[string]bool{}
	n := &name{name: obj.Name()}
	from := w.pkg.Name() + "." + obj.Name()
	switch o := obj.(type) {
	case *types.Const:
		n.kind, n.text = constKind, n.name+" = "+from
	case *types.TypeName:
		n.kind, n.text = typeKind, n.name+w.typeAlias(o, from)
	case *types.Var:
		n.kind = varKind
		if exportable(o.Type(), nil) {
			n.text = fmt.Sprintf("//go:linkname %s %s.%s\nvar %s %s", n.name, w.pkg.Path(), n.name, n.name, w.typ(o.Type()))
		} else {
			n.copied = true
			n.text = "var " + n.name + " = " + from
		}
	case *types.Func:
		n.kind = funcKind
		sig := o.Signature()
		if !exportable(sig, nil) {
			return nil, fmt.Errorf("%s: a function with a type that isn't exported can't be forwarded", from)
		}
		n.text = w.function(n.name, from, sig)
	default:
		return nil, fmt.Errorf("%s: don't know what to do with %T", from, obj)
	}
	n.imports = slices.Sorted(maps.Keys(w.imports))
	return n, nil
}

// typeAlias returns what follows the name of an alias.
func (w *writer) typeAlias(o *types.TypeName, from string) string {
	var params *types.TypeParamList
	switch t := o.Type().(type) {
	case *types.Named:
		params = t.TypeParams()
	case *types.Alias:
		params = t.TypeParams()
	}
	declared, used := w.typeParams(params)
	return declared + " = " + from + used
}

// typeParams returns a list of type parameters as it is declared, and as it is
// used.
func (w *writer) typeParams(list *types.TypeParamList) (declared, used string) {
	if list.Len() == 0 {
		return "", ""
	}
	var ds, us []string
	for p := range list.TypeParams() {
		ds = append(ds, p.Obj().Name()+" "+w.typ(p.Constraint()))
		us = append(us, p.Obj().Name())
	}
	return "[" + strings.Join(ds, ", ") + "]", "[" + strings.Join(us, ", ") + "]"
}

// function returns a function that calls from.
func (w *writer) function(name, from string, sig *types.Signature) string {
	var params, args []string
	for p := range sig.Params().Variables() {
		arg, typ := w.parameter(p.Name(), len(args)), w.typ(p.Type())
		if sig.Variadic() && len(args) == sig.Params().Len()-1 {
			typ = "..." + strings.TrimPrefix(typ, "[]")
			params, args = append(params, arg+" "+typ), append(args, arg+"...")
			continue
		}
		params, args = append(params, arg+" "+typ), append(args, arg)
	}
	var results []string
	for r := range sig.Results().Variables() {
		s := w.typ(r.Type())
		if r.Name() != "" {
			s = r.Name() + " " + s
		}
		results = append(results, s)
	}
	result, call := strings.Join(results, ", "), "return "
	switch {
	case len(results) == 0:
		call = ""
	case len(results) > 1 || sig.Results().At(0).Name() != "":
		result = " (" + result + ")"
	default:
		result = " " + result
	}
	declared, used := w.typeParams(sig.TypeParams())
	return fmt.Sprintf("func %s%s(%s)%s { %s%s%s(%s) }",
		name, declared, shorten(params), result, call, from, used, strings.Join(args, ", "))
}

// parameter returns a name for the parameter with index i that hides nothing
// that the function needs.
func (w *writer) parameter(name string, i int) string {
	if name == "" || name == "_" || name == w.pkg.Name() || token.IsKeyword(name) {
		return "p" + strconv.Itoa(i)
	}
	return name
}

// shorten joins parameters, those of one type as one.
func shorten(params []string) string {
	for i := range params[:max(len(params)-1, 0)] {
		name, typ, _ := strings.Cut(params[i], " ")
		if _, next, _ := strings.Cut(params[i+1], " "); next == typ {
			params[i] = name
		}
	}
	return strings.Join(params, ", ")
}

// typ returns t as the counterpart writes it: by its own names, and by those
// of other counterparts.
func (w *writer) typ(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		to := p.Path()
		if c, ok := counterpart(to); ok {
			to = c
			w.imports[to] = true
			return path.Base(to)
		}
		w.imports[to] = true
		return p.Name()
	})
}

// exportable reports whether another package can write t down.
func exportable(t types.Type, seen []types.Type) bool {
	if slices.Contains(seen, t) {
		return true
	}
	seen = append(seen, t)
	all := func(ts ...types.Type) bool {
		for _, t := range ts {
			if !exportable(t, seen) {
				return false
			}
		}
		return true
	}
	switch t := t.(type) {
	case interface{ Obj() *types.TypeName }: // named types, aliases and type parameters
		if _, ok := t.(*types.TypeParam); ok {
			return true
		}
		if args, ok := t.(interface{ TypeArgs() *types.TypeList }); ok {
			for arg := range args.TypeArgs().Types() {
				if !all(arg) {
					return false
				}
			}
		}
		return t.Obj().Pkg() == nil || t.Obj().Exported()
	case *types.Map:
		return all(t.Key(), t.Elem())
	case interface{ Elem() types.Type }:
		return all(t.Elem())
	case *types.Signature:
		return all(t.Params(), t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if !all(v.Type()) {
				return false
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() || !all(f.Type()) {
				return false
			}
		}
	}
	return true
}
