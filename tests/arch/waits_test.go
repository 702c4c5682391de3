package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// waitsFile lists every function of the library that waits for another goroutine.
const waitsFile = "../../docs/internals/waits.md"

// TestWaits compares the tables of waitsFile with the sources, by package and function. A wait
// whose order is wrong, or that no goroutine ends, loses a wake-up once in a million times, so that no
// test sees it. So each wait says in the list what its order is.
func TestWaits(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the list is that of linux/amd64")
	}
	listed := readWaits(t)
	found := 0
	for _, p := range library(t) {
		for name, kinds := range waits(p) {
			found++
			if n := listed[name]; n != 1 {
				t.Errorf("%s has %s and %d rows. Say in docs/internals/waits.md what announces the wait, what it looks at "+
					"after that, and who ends it, storing first and looking after; or in a few words why it needs no order.",
					name, strings.Join(kinds, ", "), n)
			}
			delete(listed, name)
		}
	}
	for name := range listed {
		t.Errorf("%s has a row in docs/internals/waits.md, and doesn't wait or doesn't exist: remove the row.", name)
	}
	if found < 50 {
		t.Errorf("found only %d functions that wait", found)
	}
}

// waits returns the functions of a package that wait, and by what.
func waits(p checked) map[string][]string {
	pkg := packageName(p.path)
	all := map[string][]string{}
	if pkg == "internal/engine/enginetest" { // a protocol for tests
		return all
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			in := "(package)"
			if fn, ok := d.(*ast.FuncDecl); ok {
				in = fn.Name.Name
				if fn.Recv != nil {
					in = receiver(fn.Recv.List[0].Type) + "." + in
				}
			}
			if kinds := waitsOf(d, p.info); len(kinds) > 0 {
				all[pkg+" "+in] = append(all[pkg+" "+in], kinds...)
			}
		}
	}
	return all
}

// packageName is the folder of a package, and gale for the root.
func packageName(path string) string {
	if rest := strings.TrimPrefix(strings.TrimPrefix(path, module), "/"); rest != "" {
		return rest
	}
	return "gale"
}

// waitsOf returns the kinds of waits in a declaration: the operations of channels, except those of
// a select that has a default, and Wait of package sync.
func waitsOf(d ast.Decl, info *types.Info) (kinds []string) {
	inSelect := map[ast.Node]bool{} // operations that are part of a select
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			waits := true
			for _, c := range n.Body.List {
				comm := c.(*ast.CommClause).Comm
				if comm == nil {
					waits = false
					continue
				}
				inSelect[operation(comm)] = true
			}
			if waits {
				kinds = append(kinds, "a select")
			}
		case *ast.SendStmt:
			if !inSelect[n] {
				kinds = append(kinds, "a send")
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !inSelect[n] {
				kinds = append(kinds, "a receive")
			}
		case *ast.RangeStmt:
			if _, ok := info.TypeOf(n.X).Underlying().(*types.Chan); ok {
				kinds = append(kinds, "a range over a channel")
			}
		case *ast.SelectorExpr:
			if f, ok := info.Uses[n.Sel].(*types.Func); ok && (f.FullName() == "(*sync.Cond).Wait" || f.FullName() == "(*sync.WaitGroup).Wait") {
				kinds = append(kinds, f.FullName())
			}
		}
		return true
	})
	return kinds
}

// operation returns the operation of a case of a select: a send, or the receive in a statement.
func operation(comm ast.Stmt) ast.Node {
	var e ast.Expr
	switch comm := comm.(type) {
	case *ast.SendStmt:
		return comm
	case *ast.ExprStmt:
		e = comm.X
	case *ast.AssignStmt:
		e = comm.Rhs[0]
	}
	return ast.Unparen(e)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readWaits returns how many rows waitsFile has for each function. A row names functions in its
// first cell; the package is the heading of the section.
func readWaits(t *testing.T) map[string]int {
	t.Helper()
	b, err := os.ReadFile(waitsFile)
	if err != nil {
		t.Fatalf("reading the list: %v", err)
	}
	listed := map[string]int{}
	pkg := ""
	for line := range strings.Lines(string(b)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			pkg = ""
			if q := quoted.FindStringSubmatch(h); q != nil { // others have no tables of waits
				pkg = q[1]
			}
			continue
		}
		if cells := strings.Split(line, "|"); pkg != "" && len(cells) > 2 {
			for _, q := range quoted.FindAllStringSubmatch(cells[1], -1) {
				listed[pkg+" "+q[1]]++
			}
		}
	}
	return listed
}
