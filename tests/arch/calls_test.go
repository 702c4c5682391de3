package arch

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// callsFile lists every place of the library that starts a goroutine or a timer, or calls
// user code: a function, or a method of a type that users implement.
const callsFile = "calls.txt"

// TestUserCalls compares callsFile with the sources. A panic of a user's function must
// not end the process, nor leave a lock held or a connection without an owner. The list
// says for each call what prevents that.
//
// The list has functions and callees, not lines. GALE_UPDATE_CALLS=1 adds new entries,
// with a "?" in place of the reason.
func TestUserCalls(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the list is that of linux/amd64")
	}
	found := userCalls(t)
	listed, header := readCalls(t)
	if os.Getenv("GALE_UPDATE_CALLS") != "" {
		writeCalls(t, header, found, listed)
		listed, _ = readCalls(t)
	}
	for _, call := range found {
		switch why, ok := listed[call]; {
		case !ok:
			t.Errorf("new: %s\n\tIt starts a goroutine or timer, or calls what a user gave, which may panic or end the goroutine. "+
				"Make sure that neither the process nor others suffer, then add a line to tests/arch/%s: its head tells how.", call, callsFile)
		case !slices.Contains(reasons, why):
			t.Errorf("%s: the reason %q is none of %v: see the head of tests/arch/%s", call, why, reasons, callsFile)
		}
		delete(listed, call)
	}
	for call := range listed {
		t.Errorf("gone: %s\n\tRemove its line from tests/arch/%s.", call, callsFile)
	}
}

// reasons are the reasons that callsFile explains.
var reasons = []string{"caller", "handler", "session", "stream", "conn", "own", "ours"}

// userCalls returns the entries that callsFile must have, sorted.
func userCalls(t *testing.T) []string {
	t.Helper()
	all := map[string]bool{}
	for _, p := range library(t) {
		s := &scanner{pkg: strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/"), info: p.info, found: all}
		if s.pkg == "" {
			s.pkg = "gale"
		}
		for _, f := range p.files {
			s.file(f)
		}
	}
	if len(all) < 100 {
		t.Fatalf("found only %d calls", len(all))
	}
	var sorted []string
	for call := range all {
		sorted = append(sorted, call)
	}
	slices.Sort(sorted)
	return sorted
}

// isLibrary reports whether the package may be part of a program that uses the library.
func isLibrary(path string) bool {
	rest, ok := strings.CutPrefix(path, module)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return rest != "/internal/pool/pooltest" && !isMeasure(path) && rest != "/internal/alloctest" && rest != "/internal/modeltest" && !slices.Contains([]string{"cmd", "examples", "bench", "tests", "compat", "scripts"}, first)
}

// isMeasure reports whether the package is one of those that the command and the lab share
// and that the library doesn't use. They have the rules of commands.
func isMeasure(path string) bool {
	return strings.HasPrefix(path, internal+"measure/")
}

// scanner finds calls in the files of a package.
type scanner struct {
	pkg   string
	info  *types.Info
	in    string // the function that is scanned
	found map[string]bool
}

func (s *scanner) add(format string, args ...any) {
	s.found[s.pkg+" "+s.in+": "+fmt.Sprintf(format, args...)] = true
}

func (s *scanner) file(f *ast.File) {
	for _, d := range f.Decls {
		s.in = "(package)"
		if fn, ok := d.(*ast.FuncDecl); ok {
			s.in = fn.Name.Name
			if fn.Recv != nil {
				s.in = receiver(fn.Recv.List[0].Type) + "." + fn.Name.Name
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				s.add("go %s", s.callee(n.Call.Fun))
			case *ast.CallExpr:
				s.call(n)
			}
			return true
		})
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// callee returns the name of the function that is called.
func (s *scanner) callee(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return "func"
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if sel := s.info.Selections[e]; sel != nil {
			return typeName(sel.Recv()) + "." + e.Sel.Name
		}
		return types.ExprString(e)
	}
	return types.ExprString(e)
}

// starters are functions that run their argument on another goroutine.
var starters = []string{"time.AfterFunc", "context.AfterFunc", "runtime.AddCleanup", "runtime.SetFinalizer", "sync.WaitGroup.Go"}

func (s *scanner) call(c *ast.CallExpr) {
	if tv := s.info.Types[c.Fun]; tv.IsType() || tv.IsBuiltin() {
		return
	}
	fun := ast.Unparen(c.Fun)
	name := s.callee(fun)
	if slices.Contains(starters, name) {
		s.add("%s", name)
		return
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		if v, ok := s.info.Uses[fun].(*types.Var); ok && !s.isOwn(v) && !strings.HasPrefix(typeName(v.Type()), "context.Cancel") {
			s.add("calls %s %s", fun.Name, typeName(v.Type()))
		}
	case *ast.SelectorExpr:
		sel := s.info.Selections[fun]
		if sel == nil {
			if v, ok := s.info.Uses[fun.Sel].(*types.Var); ok {
				s.add("calls %s", v.Name())
			}
			return
		}
		switch {
		case sel.Kind() == types.FieldVal:
			s.add("calls %s", name)
		case types.IsInterface(sel.Recv()) && users(sel):
			s.add("calls %s", name)
		}
	case *ast.FuncLit:
	default:
		s.add("calls the result of %s", types.ExprString(fun))
	}
}

// isOwn reports whether a variable holds a function of the package itself: its type has
// no name, and it is not a parameter of an exported function.
func (s *scanner) isOwn(v *types.Var) bool {
	_, named := types.Unalias(v.Type()).(*types.Named)
	if named || v.Kind() == types.ParamVar || v.Kind() == types.RecvVar {
		return false
	}
	return v.Kind() == types.LocalVar
}

// userInterfaces are the interfaces of the standard library and of internal packages that
// users implement. Contexts, addresses and errors are left out: they are everywhere, and
// simple.
var userInterfaces = []string{"dial.Resolver", "io.", "net.Conn", "net.Listener", "fs.FS", "fs.File", "fs.ReadDirFile", "http.Handler"}

// users reports whether users implement the interface of a method.
func users(sel *types.Selection) bool {
	t := sel.Recv()
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return types.IsInterface(t) // an interface without a name, as in a type assertion
	}
	if n.Obj().Pkg() == nil {
		return false // error
	}
	if strings.HasPrefix(n.Obj().Pkg().Path(), module) && !strings.Contains(n.Obj().Pkg().Path(), "/internal/") {
		return n.Obj().Exported()
	}
	name := typeName(t)
	return slices.ContainsFunc(userInterfaces, func(u string) bool {
		return name == u || strings.HasSuffix(u, ".") && strings.HasPrefix(name, u)
	})
}

// typeName returns the short name of a type.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// readCalls returns the lines of callsFile with their reasons, and its head.
func readCalls(t *testing.T) (listed map[string]string, header string) {
	t.Helper()
	b, err := os.ReadFile(callsFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	listed = map[string]string{}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			header += line
			continue
		}
		if why, call, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			listed[call] = why
		}
	}
	return listed, header
}

func writeCalls(t *testing.T, header string, found []string, listed map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(header)
	for _, call := range found {
		why := listed[call]
		if why == "" {
			why = "?"
		}
		fmt.Fprintf(&b, "%s\t%s\n", why, call)
	}
	if err := os.WriteFile(callsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
