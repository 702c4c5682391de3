package gale_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleNames returns the names of the examples with checked output in a folder, in the
// form that documents use.
func exampleNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, p := range paths {
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	prefix := ""
	if dir != "." {
		prefix = filepath.Base(dir) + "."
	}
	names := make(map[string]bool)
	for _, e := range doc.Examples(files...) {
		if e.Output != "" || e.EmptyOutput {
			names[prefix+"Example"+e.Name] = true
		}
	}
	return names
}

// Each example that a document names exists and is run as a test. Each row of the
// conversion tables names one, and each example for the tables is in one of them.
func TestDocumentedExamples(t *testing.T) {
	known := exampleNames(t, ".")
	for name := range exampleNames(t, "galetest") {
		known[name] = true
	}
	named := make(map[string]bool)
	nameRx := regexp.MustCompile(`\b(?:[a-z]+\.)?Example[A-Z]\w*`)
	for _, path := range []string{"docs/moving/from-nethttp.md", "docs/guides/byte-buffers.md", "docs/guides/middleware.md", "docs/lifetimes.md"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tables := path == "docs/moving/from-nethttp.md" || path == "docs/guides/byte-buffers.md"
		for i, line := range strings.Split(string(b), "\n") {
			names := nameRx.FindAllString(line, -1)
			if tables && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasSuffix(line, "| example |") && len(names) != 1 {
				t.Errorf("%s:%d: the row names %d examples, want one: %s", path, i+1, len(names), line)
			}
			for _, name := range names {
				named[name] = true
				if !known[name] {
					t.Errorf("%s:%d: there is no %s with an output that is checked", path, i+1, name)
				}
			}
		}
	}
	for _, path := range []string{"request", "response", "serve", "client"} {
		b, err := os.ReadFile("example_nethttp_" + path + "_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Example\w+)`).FindAllStringSubmatch(string(b), -1) {
			if !named[m[1]] {
				t.Errorf("no document names %s", m[1])
			}
		}
	}
}
