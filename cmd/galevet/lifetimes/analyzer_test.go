package lifetimes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAnalyzer proves that misuse is reported where it is, and right code isn't, and that
// each package still compiles with all suggested fixes.
func TestAnalyzer(t *testing.T) {
	debug = true
	results := analysistest.Run(noFacts{t}, analysistest.TestData(), Analyzer, "handlers", "good", "release", "fibers", "uselib")
	fixes := 0
	for _, r := range results {
		n, err := compileFixed(r.Pass, r.Diagnostics)
		if err != nil {
			t.Errorf("%s doesn't compile with its fixes: %v", r.Pass.Pkg.Path(), err)
		}
		fixes += n
	}
	if fixes < 15 {
		t.Errorf("%d fixes are suggested, want 15 and more", fixes)
	}
}

// noFacts leaves out complaints about facts, which the tests don't spell out.
type noFacts struct{ t *testing.T }

func (n noFacts) Errorf(format string, args ...any) {
	if msg := fmt.Sprintf(format, args...); !strings.Contains(msg, "unexpected fact") {
		n.t.Error(msg)
	}
}

// compileFixed applies all fixes to a package and checks its types again.
func compileFixed(pass *analysis.Pass, list []analysis.Diagnostic) (int, error) {
	n := 0
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range pass.Files {
		name := pass.Fset.Position(f.Pos()).Filename
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		var edits []analysis.TextEdit
		for _, d := range list {
			for _, fix := range d.SuggestedFixes {
				if len(fix.TextEdits) > 0 && f.FileStart <= fix.TextEdits[0].Pos && fix.TextEdits[0].Pos <= f.FileEnd {
					edits = append(edits, fix.TextEdits...)
					n++
				}
			}
		}
		slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int { return int(b.Pos - a.Pos) })
		for _, e := range edits {
			from, to := int(e.Pos-f.FileStart), int(e.End-f.FileStart)
			text = slices.Concat(text[:from], e.NewText, text[to:])
		}
		g, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return n, err
		}
		files = append(files, g)
	}
	conf := types.Config{Importer: importerOf(pass.Pkg)}
	_, err := conf.Check(pass.Pkg.Path(), fset, files, nil)
	return n, err
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// importerOf imports what pkg does.
func importerOf(pkg *types.Package) types.Importer {
	return importerFunc(func(path string) (*types.Package, error) {
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		for _, p := range pkg.Imports() {
			if p.Path() == path {
				return p, nil
			}
		}
		return nil, fmt.Errorf("%s isn't imported", path)
	})
}

// TestTables proves that tables say only what the analyzer understands.
func TestTables(t *testing.T) {
	for key, e := range known.funcs {
		if len(e.effects) == 0 {
			t.Errorf("%s: no effects", key)
		}
	}
	if err := (&tables{owners: map[string]owner{}, funcs: map[string]entry{}, pkgs: map[string]bool{}}).parse("package x\nF"); err == nil {
		t.Error("a line without effects is taken")
	}
}
