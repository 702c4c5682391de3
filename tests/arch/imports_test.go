package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/galehttp/gale"
	internal = module + "/internal/"
)

// below says for each internal package which internal packages it may import.
// ARCHITECTURE.md has the diagram. A new package needs an entry here.
var below = map[string][]string{
	"bytesconv":           {},
	"pool":                {"race", "lifetime"},
	"clock":               {"bytesconv"},
	"race":                {},
	"lifetime":            {"bytesconv"},
	"clientconn":          {"pool", "clock", "engine"},
	"dial":                {},
	"door":                {"head"},
	"pathrule":            {"bytesconv"},
	"kv":                  {"bytesconv", "pool", "race", "lifetime"},
	"msg":                 {"bytesconv", "pool", "kv", "race", "lifetime"},
	"head":                {"bytesconv", "kv", "msg", "lifetime"},
	"h1":                  {"bytesconv", "pool", "kv", "msg", "head"},
	"hpack":               {"msg"},
	"h2":                  {"bytesconv", "pool", "clock", "msg", "head", "h1", "hpack"},
	"wsframe":             {"bytesconv", "pool"},
	"compress":            {"bytesconv", "pool"},
	"static":              {"bytesconv", "pool", "clock", "compress"},
	"tunnel":              {"h1", "msg"},
	"renewed":             {},
	"sockopt":             {},
	"streamconn":          {},
	"shares":              {},
	"engine":              {"bytesconv", "pool", "clock", "race", "sockopt"},
	"pool/pooltest":       {"pool", "lifetime"},
	"renewed/renewedtest": {},
	"alloctest":           {},
	"modeltest":           {},
	"engine/enginetest":   {"engine"},

	// What the command and the lab share. The library doesn't use them.
	"measure/figures": {"bytesconv"},
	"measure/page":    {"measure/figures"},
	"measure/process": {"measure/figures"},
}

// pure are the packages that turn bytes into bytes, without I/O.
var pure = []string{"bytesconv", "kv", "msg", "head", "h1", "hpack", "h2", "wsframe", "pathrule"}

// impure are imports that a pure package must not have.
var impure = []string{"net", "os", "os/signal", "time", "syscall", "context", "crypto/tls"}

// source is one Go file: its package's path inside the module ("" for the root
// package) and what it imports.
type source struct {
	file, dir string
	test      bool // a test or a generator: not part of the library
	imports   []string
}

// sources reads every Go file of the module for every system, so it does not use the go
// command. Nested modules are left out.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, p, d.Name())
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		s, err := read(root, p)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found only %d files", len(all))
	}
	return all
}

func enter(root, p, name string) error {
	if p == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func read(root, p string) (source, error) {
	f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return source{}, err
	}
	rel = filepath.ToSlash(rel)
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	s := source{file: rel, dir: dir, test: strings.HasSuffix(rel, "_test.go") || f.Name.Name == "main"}
	for _, i := range f.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, name)
	}
	return s, nil
}

// TestImportDirection proves that imports point one way, in two branches that meet in the
// root package.
func TestImportDirection(t *testing.T) {
	for _, s := range sources(t) {
		name, isInternal := strings.CutPrefix(s.dir, "internal/")
		if !isInternal || s.test {
			continue
		}
		allowed, known := below[name]
		if !known {
			t.Errorf("%s: internal/%s has no place in the picture: add it to the table above and to ARCHITECTURE.md", s.file, name)
			continue
		}
		for _, imp := range s.imports {
			if imp == module && name != "measure/process" { // it belongs to the command
				t.Errorf("%s imports the root package, which stands above it", s.file)
			}
			if dep, ok := strings.CutPrefix(imp, internal); ok && !slices.Contains(allowed, dep) {
				t.Errorf("%s: internal/%s must not import internal/%s", s.file, name, dep)
			}
		}
	}
}

// TestProtocolIsPure proves that the protocol core does no I/O and reads no clock, so
// that every engine, fuzzer and client can use it.
func TestProtocolIsPure(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimPrefix(s.dir, "internal/")
		if s.test || name == s.dir || !slices.Contains(pure, name) {
			continue
		}
		for _, imp := range s.imports {
			if slices.Contains(impure, imp) {
				t.Errorf("%s imports %s: protocol code takes bytes and gives bytes", s.file, imp)
			}
		}
	}
}

// TestRootStandsAlone proves that the root package needs none of its sub-packages.
func TestRootStandsAlone(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir != "" || s.test {
			continue
		}
		for _, imp := range s.imports {
			if strings.HasPrefix(imp, module+"/") && !strings.HasPrefix(imp, internal) {
				t.Errorf("%s imports %s, which stands above the root package", s.file, imp)
			}
		}
	}
}

// TestAwaitStandsAlone proves that tests/harness/await imports no package of the module. If it
// did, the tests inside that package could not import it.
func TestAwaitStandsAlone(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir != "tests/harness/await" {
			continue
		}
		for _, imp := range s.imports {
			if imp == module || strings.HasPrefix(imp, module+"/") {
				t.Errorf("%s imports %s, so the tests of that package could not use it", s.file, imp)
			}
		}
	}
}

// TestDoorsOfTests proves that only tests, and the files of package gale that set them, use the
// variables of internal/door/tests.go.
func TestDoorsOfTests(t *testing.T) {
	root := filepath.Join("..", "..")
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "door", "tests.go"), nil, 0)
	if err != nil {
		t.Fatalf("reading the variables: %v", err)
	}
	names := f.Scope.Objects
	if len(names) < 10 {
		t.Fatalf("found only %d names", len(names))
	}
	for _, s := range sources(t) {
		if s.test || strings.HasSuffix(s.file, "_test.go") || strings.HasPrefix(s.dir, "tests") || s.dir == "internal/door" ||
			s.file == "server_inside.go" || s.file == "hostclient_door.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("reading %s: %v", s.file, err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "door" && names[sel.Sel.Name] != nil {
				t.Errorf("%s uses door.%s, which is for tests", s.file, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestUnsafe proves that only one package has conversions that need unsafe. Two more files
// pass addresses to a system call.
func TestUnsafe(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir != "internal/bytesconv" && s.file != "internal/static/stat_raw.go" &&
			s.file != "internal/sockopt/accept_linux.go" && slices.Contains(s.imports, "unsafe") {
			t.Errorf("%s imports unsafe: internal/bytesconv has what it needs", s.file)
		}
	}
}

// TestDependencies proves that the module needs only the listed modules besides the
// standard library.
func TestDependencies(t *testing.T) {
	allowed := []string{
		module,
		"github.com/klauspost/compress",
		"github.com/andybalholm/brotli",
		"golang.org/x/net", "golang.org/x/sys", "golang.org/x/crypto", "golang.org/x/text",
	}
	ofCommand := []string{"github.com/boombuler/barcode", "github.com/HdrHistogram/hdrhistogram-go"} // only commands may import these
	for _, s := range sources(t) {
		allowed := allowed
		if s.dir == "cmd/gale" || strings.HasPrefix(s.dir, "cmd/gale/") || isMeasure(module+"/"+s.dir) {
			allowed = slices.Concat(allowed, ofCommand)
		}
		for _, imp := range s.imports {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") {
				continue // standard library
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return imp == a || strings.HasPrefix(imp, a+"/") }) {
				t.Errorf("%s imports %s, which is not among the module's dependencies", s.file, imp)
			}
		}
	}
}
