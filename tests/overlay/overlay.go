// Package overlay writes copies of the module's sources that do something more, and an
// overlay that makes the go command use them instead of the sources. What they do is the
// business of its users: tests/steps/instrument counts steps, lab/scale/sites counts words
// that goroutines share, scripts/schedfuzz delays goroutines.
//
// Write lists packages, checks their types, and gives each file to a function that makes
// edits. Line numbers must not change, so that positions in errors and profiles stay true.
package overlay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Module is the path of the library's module.
const Module = "github.com/galehttp/gale"

// Name is the name of the overlay in the folder that Write writes to.
const Name = "overlay.json"

// Spec says what is rewritten.
type Spec struct {
	// Dir is the folder in which the go command lists packages. Empty means the working
	// folder.
	Dir string
	// Roots are packages, as arguments of go list. They and all that they need are listed.
	Roots []string
	// Rewrites reports whether the package with an import path is rewritten.
	Rewrites func(path string) bool
}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// Write calls edit with each file of the packages of s, one package after the other, and
// writes those with edits to dir, which it makes, with an overlay named Name.
func Write(s Spec, dir string, edit func(f *File)) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pkgs, exports, err := s.list()
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, p := range pkgs {
		files, err := p.check(fset, imp)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		for _, f := range files {
			edit(f)
			if !f.IsEdited() {
				continue
			}
			to := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+"_"+filepath.Base(f.Name))
			if err := os.WriteFile(to, f.edited(), 0o644); err != nil {
				return err
			}
			overlay.Replace[f.Name] = to
		}
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, Name), text, 0o644)
}

// list returns the packages that are rewritten, and the files with the export data of all
// packages.
func (s *Spec) list() (pkgs []pkg, exports map[string]string, err error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	cmd := exec.Command("go", append(args, s.Roots...)...)
	cmd.Dir, cmd.Stderr = s.Dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return pkgs, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if s.Rewrites(p.ImportPath) {
			pkgs = append(pkgs, p)
		}
	}
}

// check parses the files of a package and checks their types.
func (p *pkg) check(fset *token.FileSet, imp types.Importer) ([]*File, error) {
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	var files []*File
	var all []*ast.File
	for _, name := range p.GoFiles {
		f := &File{Name: filepath.Join(p.Dir, name), Info: info, fset: fset}
		var err error
		if f.Text, err = os.ReadFile(f.Name); err != nil {
			return nil, err
		}
		if f.Syntax, err = parser.ParseFile(fset, f.Name, f.Text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		files, all = append(files, f), append(all, f.Syntax)
	}
	checked, err := (&types.Config{Importer: imp}).Check(p.ImportPath, fset, all, info)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		f.Package = checked
	}
	return files, nil
}
