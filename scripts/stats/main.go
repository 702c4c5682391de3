// Stats prints the shape of the code: the sizes of files and functions, the
// share of comments and tests. It judges nothing; style is for readers.
//
//	go run ./scripts/stats [DIR]
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// longFile is where one begins to look for the second noun in a file.
const longFile = 600

type file struct {
	path  string
	lines int
}

type report struct {
	files, tests    []file
	funcs           []int
	comments, blank int
	undocumented    []string
}

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	var r report
	if err := filepath.WalkDir(root, r.visit); err != nil {
		log.Fatal(err)
	}
	r.print()
}

func (r *report) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if name := d.Name(); name == "testdata" || len(name) > 1 && name[0] == '.' {
			return filepath.SkipDir
		}
		return nil
	}
	if !strings.HasSuffix(path, ".go") {
		return nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f := file{path, bytes.Count(src, []byte("\n"))}
	if strings.HasSuffix(path, "_test.go") {
		r.tests = append(r.tests, f)
		return nil
	}
	r.files = append(r.files, f)
	return r.parse(path, src)
}

func (r *report) parse(path string, src []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	line := func(p token.Pos) int { return fset.Position(p).Line }
	for _, c := range f.Comments {
		r.comments += line(c.End()) - line(c.Pos()) + 1
	}
	for l := range bytes.Lines(src) {
		if len(bytes.TrimSpace(l)) == 0 {
			r.blank++
		}
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		r.funcs = append(r.funcs, line(fn.End())-line(fn.Pos())+1)
		if fn.Name.IsExported() && fn.Doc == nil && exportedRecv(fn) {
			r.undocumented = append(r.undocumented, path+": "+fn.Name.Name)
		}
	}
	return nil
}

// exportedRecv reports whether fn is a function or a method of an exported type.
func exportedRecv(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	id, ok := t.(*ast.Ident)
	return !ok || id.IsExported()
}

func (r *report) print() {
	code, test := sum(r.files), sum(r.tests)
	fmt.Printf("code      %d lines in %d files, median %d\n", code, len(r.files), medianLines(r.files))
	fmt.Printf("tests     %d lines in %d files\n", test, len(r.tests))
	fmt.Printf("comments  %d %% of the lines that are not blank\n", 100*r.comments/max(1, code-r.blank))
	slices.Sort(r.funcs)
	if n := len(r.funcs); n > 0 {
		fmt.Printf("functions %d: median %d lines, 90 %% up to %d, longest %d\n", n, r.funcs[n/2], r.funcs[n*9/10], r.funcs[n-1])
	}
	for _, f := range r.files {
		if f.lines > longFile {
			fmt.Printf("long      %s: %d lines\n", f.path, f.lines)
		}
	}
	for _, u := range r.undocumented {
		fmt.Printf("no doc    %s\n", u)
	}
}

func sum(files []file) (n int) {
	for _, f := range files {
		n += f.lines
	}
	return n
}

func medianLines(files []file) int {
	if len(files) == 0 {
		return 0
	}
	slices.SortFunc(files, func(a, b file) int { return a.lines - b.lines })
	return files[len(files)/2].lines
}
