package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
)

// A file is what is counted of one.
type file struct {
	test            bool
	lines           int
	code, comments  int // lines; one with both is code
	cites, words    int
	funcs           []function
	exported, named int // of what is exported, what has a comment
	fuzz, bench, ex int
}

type function struct{ lines, nest int }

var (
	cite     = regexp.MustCompile(`RFC \d+`)
	contract = regexp.MustCompile(`(?i)\b(must not|valid until|owned|owns|caller|invariant)\b`)
)

// readFile counts a file; it returns nil for one that was generated.
func readFile(path string) (*file, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	f := &file{test: strings.HasSuffix(path, "_test.go"), lines: bytes.Count(src, []byte("\n"))}
	if f.test {
		f.countTests(tree)
		return f, nil
	}
	f.countLines(src, fset, tree)
	for _, d := range tree.Decls {
		f.countDecl(fset, d)
	}
	return f, nil
}

func (f *file) countTests(tree *ast.File) {
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		switch name := fn.Name.Name; {
		case strings.HasPrefix(name, "Fuzz"):
			f.fuzz++
		case strings.HasPrefix(name, "Benchmark"):
			f.bench++
		case strings.HasPrefix(name, "Example"):
			f.ex++
		}
	}
}

// countLines tells lines of code from lines of comments.
func (f *file) countLines(src []byte, fset *token.FileSet, tree *ast.File) {
	rest := bytes.Clone(src) // without the comments
	for _, group := range tree.Comments {
		for _, c := range group.List {
			f.cites += len(cite.FindAllString(c.Text, -1))
			f.words += len(contract.FindAllString(c.Text, -1))
			from := fset.Position(c.Pos()).Offset
			for i := from; i < from+len(c.Text) && i < len(rest); i++ {
				if rest[i] != '\n' {
					rest[i] = ' '
				}
			}
		}
	}
	was := bytes.Split(src, []byte("\n"))
	for i, line := range bytes.Split(rest, []byte("\n")) {
		switch {
		case len(bytes.TrimSpace(line)) > 0:
			f.code++
		case len(bytes.TrimSpace(was[i])) > 0:
			f.comments++
		}
	}
}

func (f *file) countDecl(fset *token.FileSet, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		f.countName(d.Name, d.Doc)
		if d.Body != nil {
			lines := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
			f.funcs = append(f.funcs, function{lines, nesting(d.Body)})
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				doc := t.Doc
				if doc == nil {
					doc = d.Doc
				}
				f.countName(t.Name, doc)
			}
		}
	}
}

func (f *file) countName(name *ast.Ident, doc *ast.CommentGroup) {
	if !name.IsExported() {
		return
	}
	f.exported++
	if doc != nil {
		f.named++
	}
}

// nesting is how deep conditions, loops and cases lie in each other.
func nesting(body *ast.BlockStmt) int {
	deepest, depth := 0, 0
	var stack []bool
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			if stack[len(stack)-1] {
				depth--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		nests := false
		switch n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			nests = true
			depth++
			deepest = max(deepest, depth)
		}
		stack = append(stack, nests)
		return true
	})
	return deepest
}
