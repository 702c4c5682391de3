package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// valueKeys are the keys of package door. They reach HostClient.DoContext through contexts that need
// not be a RequestCtx. What a RequestCtx is asked for has a method of door.Serving.
var valueKeys = []string{"InterimKey", "OnceKey", "WholeKey"}

// TestValueHasNoKeys proves that RequestCtx.Value knows no key: it looks for values, and a call can't do
// anything else. It is a method of context.Context, which any code may call with any key.
func TestValueHasNoKeys(t *testing.T) {
	found := 0
	for _, p := range library(t) {
		for _, f := range p.files {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.GenDecl:
					if strings.HasSuffix(p.path, "/internal/door") {
						checkKeys(t, d)
					}
				case *ast.FuncDecl:
					if p.path == module && d.Recv != nil && slices.Contains([]string{"Value", "lateValue"}, d.Name.Name) && isRequestCtx(d.Recv) {
						found++
						checkValue(t, d)
					}
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("found %d of the methods Value and lateValue of RequestCtx", found)
	}
}

func isRequestCtx(recv *ast.FieldList) bool {
	star, ok := recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "RequestCtx"
}

// checkKeys checks the types of package door that are called keys.
func checkKeys(t *testing.T, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		if ts, ok := spec.(*ast.TypeSpec); ok && strings.HasSuffix(ts.Name.Name, "Key") && !slices.Contains(valueKeys, ts.Name.Name) {
			t.Errorf("door.%s is a key for a context: a RequestCtx is asked by a method of door.Serving", ts.Name.Name)
		}
	}
}

// checkValue checks that a method looks at no type of a key.
func checkValue(t *testing.T, d *ast.FuncDecl) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSwitchStmt, *ast.TypeAssertExpr:
			t.Errorf("RequestCtx.%s looks at the type of a key", d.Name.Name)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "door" {
				t.Errorf("RequestCtx.%s uses door.%s", d.Name.Name, n.Sel.Name)
			}
		}
		return true
	})
}
