package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bareFile lists the test files that have bare sleeps and bare failures, with their numbers.
// They may only shrink.
const bareFile = "baretests.txt"

// bare are the numbers of a test file. See bareIn.
type bare struct{ sleeps, failures int }

// TestBareTests compares bareFile with the test files of all modules. A sleep needs a reason,
// because most sleeps are guesses of how slow a machine is. A failure needs words, because
// "EOF" alone doesn't say what failed.
//
// GALE_UPDATE_BARE=1 lowers the numbers of the list to those of the files. It raises none, and
// adds no file. GALE_UPDATE_BARE=raise writes what is there, for files that move.
func TestBareTests(t *testing.T) {
	found, listed := bareTests(t), readBare(t)
	if update := os.Getenv("GALE_UPDATE_BARE"); update != "" {
		next := found
		if update != "raise" {
			next = lower(listed, found)
		}
		writeBare(t, next)
		listed = next
	}
	files := maps.Clone(listed)
	maps.Copy(files, found)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, why := range compareBare(listed[file], found[file]) {
			t.Errorf("%s: %s", file, why)
		}
	}
}

// compareBare returns what is wrong with a file whose numbers are found.
func compareBare(listed, found bare) (wrong []string) {
	if found.sleeps > listed.sleeps {
		wrong = append(wrong, fmt.Sprintf("%d calls of time.Sleep have no comment, and tests/arch/%s allows %d.\n\t"+
			"Wait for a state: a channel, or await.Until of tests/harness/await. Or use testing/synctest. If the sleep must stay, because it is "+
			"what the test does or because it proves that nothing happens, say so in a comment on its line or the line above.",
			found.sleeps, bareFile, listed.sleeps))
	}
	if found.failures > listed.failures {
		wrong = append(wrong, fmt.Sprintf("%d failures have an error only, such as t.Fatal(err), and tests/arch/%s allows %d.\n\t"+
			"Say what failed: t.Fatal(\"reading the answer:\", err).", found.failures, bareFile, listed.failures))
	}
	if found.sleeps < listed.sleeps || found.failures < listed.failures {
		wrong = append(wrong, fmt.Sprintf("tests/arch/%s says %d %d, and there are %d %d.\n\t"+
			"Lower it: run GALE_UPDATE_BARE=1 go test -run TestBare ./tests/arch", bareFile,
			listed.sleeps, listed.failures, found.sleeps, found.failures))
	}
	return wrong
}

// lower returns the files of listed with the lower one of both numbers.
func lower(listed, found map[string]bare) map[string]bare {
	next := map[string]bare{}
	for file, l := range listed {
		n := bare{min(l.sleeps, found[file].sleeps), min(l.failures, found[file].failures)}
		if n != (bare{}) {
			next[file] = n
		}
	}
	return next
}

// bareTests returns the numbers of all test files that have any. Nested modules are included.
func bareTests(t *testing.T) map[string]bare {
	t.Helper()
	root, folders := filepath.Join("..", ".."), map[string]map[string][]byte{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		if folders[dir] == nil {
			folders[dir] = map[string][]byte{}
		}
		folders[dir][filepath.ToSlash(rel)], err = os.ReadFile(p)
		return err
	})
	all := map[string]bare{}
	for _, files := range folders {
		if err == nil {
			err = bareIn(files, all)
		}
	}
	if err != nil {
		t.Fatal("reading the test files:", err)
	}
	return all
}

// bareIn adds to all the numbers of the files of a folder: the calls of time.Sleep that have no
// comment on their line or the line above, and the calls such as t.Fatal(err). Sleeps in a
// bubble don't count if inBubbles sees that they are in one: they take no time.
func bareIn(files map[string][]byte, all map[string]bare) error {
	fset, parsed, wrappers := token.NewFileSet(), map[string]*ast.File{}, map[string]bool{}
	for name, src := range files {
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed[name] = f
		wrappersIn(f, wrappers)
	}
	for name, f := range parsed {
		if n := bareOf(fset, f, inBubbles(f, wrappers)); n != (bare{}) {
			all[name] = n
		}
	}
	return nil
}

func bareOf(fset *token.FileSet, f *ast.File, bubbles []ast.Node) (n bare) {
	commented := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			commented[fset.Position(c.Pos()).Line] = true
			commented[fset.Position(c.End()).Line+1] = true
		}
	}
	ast.Inspect(f, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		switch {
		case !ok:
		case isCall(call, "time", "Sleep"):
			inside := func(b ast.Node) bool { return b.Pos() <= call.Pos() && call.End() <= b.End() }
			if !commented[fset.Position(call.Pos()).Line] && !slices.ContainsFunc(bubbles, inside) {
				n.sleeps++
			}
		case isBareFailure(call):
			n.failures++
		}
		return true
	})
	return n
}

// inBubbles returns the functions of f that run in bubbles: those that f gives to
// synctest.Test or to a function of wrappers, as a literal or by name.
func inBubbles(f *ast.File, wrappers map[string]bool) []ast.Node {
	funcs, names := givenToBubbles(f, wrappers)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && names[fn.Name.Name] {
			funcs = append(funcs, fn)
		}
	}
	return funcs
}

// givenToBubbles returns the literals and the names of inBubbles, of a part of a file.
func givenToBubbles(part ast.Node, wrappers map[string]bool) (literals []ast.Node, names map[string]bool) {
	names = map[string]bool{}
	ast.Inspect(part, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := call.Fun.(*ast.Ident); !isCall(call, "synctest", "Test") && (!ok || !wrappers[id.Name]) {
			return true
		}
		for _, arg := range call.Args {
			switch arg := arg.(type) {
			case *ast.FuncLit:
				literals = append(literals, arg)
			case *ast.Ident:
				names[arg.Name] = true
			}
		}
		return true
	})
	return literals, names
}

// wrappersIn adds to wrappers the functions of f that call one of their arguments in a bubble.
func wrappersIn(f *ast.File, wrappers map[string]bool) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		params := map[string]bool{}
		for _, field := range fn.Type.Params.List {
			if _, ok := field.Type.(*ast.FuncType); ok {
				for _, id := range field.Names {
					params[id.Name] = true
				}
			}
		}
		bubbles, _ := givenToBubbles(fn, nil)
		for _, bubble := range bubbles {
			ast.Inspect(bubble, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					if id, ok := call.Fun.(*ast.Ident); ok && params[id.Name] {
						wrappers[fn.Name.Name] = true
					}
				}
				return true
			})
		}
	}
}

func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// isBareFailure reports whether call is Fatal or Error of a test with one argument, which is
// err or a name that ends in Err.
func isBareFailure(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || sel.Sel.Name != "Fatal" && sel.Sel.Name != "Error" {
		return false
	}
	id, ok := call.Args[0].(*ast.Ident)
	if !ok || id.Name != "err" && !strings.HasSuffix(id.Name, "Err") {
		return false
	}
	of := ""
	switch x := sel.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	return slices.Contains([]string{"t", "b", "f", "tb", "T", "TB"}, of)
}

func readBare(t *testing.T) map[string]bare {
	t.Helper()
	b, err := os.ReadFile(bareFile)
	if err != nil {
		t.Fatal("reading the list:", err)
	}
	listed := map[string]bare{}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var file string
		var n bare
		if _, err := fmt.Sscanf(line, "%s %d %d", &file, &n.sleeps, &n.failures); err != nil {
			t.Fatalf("%s: %q: %v", bareFile, line, err)
		}
		listed[file] = n
	}
	return listed
}

const bareHead = `# Test files, the calls of time.Sleep in them that have no comment, and their failures that have
# an error only, such as t.Fatal(err). The numbers may only shrink. TestBareTests compares them
# with the files and says what to do.
`

func writeBare(t *testing.T, all map[string]bare) {
	t.Helper()
	var b strings.Builder
	b.WriteString(bareHead)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintln(&b, file, all[file].sleeps, all[file].failures)
	}
	if err := os.WriteFile(bareFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal("writing the list:", err)
	}
}

// TestBareIn proves what counts as bare. helpers is another file of the folder.
func TestBareIn(t *testing.T) {
	const helpers = `package a
func inBubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, func(t *testing.T) { f(t) }) }
func notInBubble(t *testing.T, f func()) { f(); synctest.Test(t, func(t *testing.T) {}) }
`
	for _, tt := range []struct {
		name, body string
		want       bare
	}{
		{"a sleep", "time.Sleep(1)", bare{1, 0}},
		{"in the head of a loop", "for ; ; time.Sleep(1) {}", bare{1, 0}},
		{"two on a line", "time.Sleep(1); time.Sleep(1)", bare{2, 0}},
		{"a comment behind it", "time.Sleep(1) // a slow peer", bare{}},
		{"a comment above it", "// a slow peer\ntime.Sleep(1)", bare{}},
		{"a long comment above it", "// a slow\n// peer\ntime.Sleep(1)", bare{}},
		{"a comment further above", "// a slow peer\nx()\ntime.Sleep(1)", bare{1, 0}},
		{"a comment below it", "time.Sleep(1)\n// a slow peer", bare{1, 0}},
		{"in a bubble", "synctest.Test(t, func(t *testing.T) { time.Sleep(1) })", bare{}},
		{"after a bubble", "synctest.Test(t, func(t *testing.T) {})\ntime.Sleep(1)", bare{1, 0}},
		{"in a bubble by name", "synctest.Test(t, other)}\nfunc other() { time.Sleep(1)", bare{}},
		{"in a bubble of a helper", "inBubble(t, func(t *testing.T) { time.Sleep(1) })", bare{}},
		{"in a function beside a bubble", "notInBubble(t, func() { time.Sleep(1) })", bare{1, 0}},
		{"in another function", "}\nfunc other() { time.Sleep(1)", bare{1, 0}},
		{"another Sleep", "clock.Sleep(1)", bare{}},
		{"an error", "t.Fatal(err)", bare{0, 1}},
		{"of a benchmark", "b.Error(readErr)", bare{0, 1}},
		{"of a field", "s.t.Error(err)", bare{0, 1}},
		{"a comment doesn't help", "t.Fatal(err) // of the read", bare{0, 1}},
		{"in a bubble it counts", "synctest.Test(t, func(t *testing.T) { t.Error(err) })", bare{0, 1}},
		{"words", `t.Fatal("reading:", err)`, bare{}},
		{"a call", "t.Fatal(f())", bare{}},
		{"another value", "t.Fatal(got)", bare{}},
		{"no test", "log.Fatal(err)", bare{}},
		{"both", "time.Sleep(1)\nt.Fatal(err)\nt.Error(err)", bare{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := map[string]bare{}
			err := bareIn(map[string][]byte{
				"a_test.go": []byte("package a\nfunc f() {\n" + tt.body + "\n}\n"),
				"b_test.go": []byte(helpers),
			}, all)
			if got := all["a_test.go"]; err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// TestBareList proves that the list can only shrink.
func TestBareList(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		listed, found, lowered bare
		complaints             int
	}{
		{"the same", bare{1, 2}, bare{1, 2}, bare{1, 2}, 0},
		{"a new file without any", bare{}, bare{}, bare{}, 0},
		{"a new file", bare{}, bare{1, 1}, bare{}, 2},
		{"more sleeps", bare{1, 2}, bare{2, 2}, bare{1, 2}, 1},
		{"more failures", bare{1, 2}, bare{1, 3}, bare{1, 2}, 1},
		{"less of one", bare{1, 2}, bare{1, 1}, bare{1, 1}, 1},
		{"less and more", bare{1, 2}, bare{0, 3}, bare{0, 2}, 2},
		{"gone", bare{1, 2}, bare{}, bare{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := compareBare(tt.listed, tt.found); len(got) != tt.complaints {
				t.Errorf("complaints: %q, want %d", got, tt.complaints)
			}
			listed, found := map[string]bare{}, map[string]bare{}
			if tt.listed != (bare{}) {
				listed["a"] = tt.listed
			}
			if tt.found != (bare{}) {
				found["a"] = tt.found
			}
			if got := lower(listed, found)["a"]; got != tt.lowered {
				t.Errorf("the update makes it %v, want %v", got, tt.lowered)
			}
		})
	}
}
