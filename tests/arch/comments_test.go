package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleImports are packages of the standard library that examples in package comments
// use. Such examples have no import declarations.
var exampleImports = []string{"bytes", "fmt", "log", "net", "net/http", "testing"}

// TestPackageComments: the comment of each public package has an example, and its
// examples compile. They may use handler, a gale.RequestHandler.
func TestPackageComments(t *testing.T) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, exampleImports...)
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, imports := map[string]string{}, map[string]string{}
	for _, p := range exampleImports {
		imports[path.Base(p)] = p
	}
	var public []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if isLibrary(p.ImportPath) && !strings.HasPrefix(p.ImportPath, internal) {
			public = append(public, p)
			imports[path.Base(p.ImportPath)] = p.ImportPath
		}
	}
	if len(public) < 10 {
		t.Fatalf("found only %d public packages", len(public))
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range public {
		examples := commentExamples(t, p)
		if len(examples) == 0 {
			t.Errorf("%s: the package comment has no example", p.ImportPath)
		}
		for _, code := range examples {
			if err := checkExample(code, imports, imp); err != nil {
				t.Errorf("%s: %v in the example\n%s", p.ImportPath, err, code)
			}
		}
	}
}

// commentExamples returns the code blocks in the package comment of p.
func commentExamples(t *testing.T, p listedPackage) (codes []string) {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil {
			continue
		}
		for _, b := range new(comment.Parser).Parse(f.Doc.Text()).Content {
			if c, ok := b.(*comment.Code); ok {
				codes = append(codes, c.Text)
			}
		}
	}
	return codes
}

// checkExample type checks code, which is declarations or statements.
func checkExample(code string, imports map[string]string, imp types.Importer) error {
	head := "package p\n"
	for _, m := range regexp.MustCompile(`\b([a-z]+)\.[A-Z]`).FindAllStringSubmatch(code+" gale.X", -1) {
		if line := "import \"" + imports[m[1]] + "\"\n"; imports[m[1]] != "" && !strings.Contains(head, line) {
			head += line
		}
	}
	if !strings.Contains(code, "func handler(") {
		head += "var handler gale.RequestHandler\n"
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "example.go", head+code, parser.SkipObjectResolution)
	if err != nil {
		f, err = parser.ParseFile(fset, "example.go", head+"func _() {\n"+code+"}", parser.SkipObjectResolution)
	}
	if err != nil {
		return err
	}
	var hard error
	conf := types.Config{Importer: imp, Error: func(err error) {
		if e, ok := err.(types.Error); hard == nil && (!ok || !e.Soft) { // unused names are soft errors
			hard = err
		}
	}}
	_, _ = conf.Check("p", fset, []*ast.File{f}, nil)
	return hard
}
