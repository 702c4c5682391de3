package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A target is a system that programs are built for.
type target struct{ os, arch string }

// A view is what Gale's packages are on one target.
type view struct {
	target   target
	fset     *token.FileSet
	packages map[string]*types.Package // by import path
	// deprecated has what the comments of names say after "Deprecated:", by
	// the position of the name.
	deprecated map[token.Pos]string
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
}

// look type-checks the packages of Gale in dir, and all that they import, from
// their sources, without the bodies of functions: nothing is compiled, so that
// any target is good enough.
func look(dir string, t target) (*view, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	v := &view{target: t, fset: token.NewFileSet(), packages: map[string]*types.Package{"unsafe": types.Unsafe}, deprecated: map[token.Pos]string{}}
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		// Dependencies come first.
		if err := v.check(&p); err != nil {
			return nil, err
		}
	}
	return v, cmd.Wait()
}

func (v *view) check(p *listed) error {
	if p.ImportPath == "unsafe" {
		return nil
	}
	files := make([]*ast.File, 0, len(p.GoFiles))
	mode := parser.SkipObjectResolution
	if !p.Standard {
		mode |= parser.ParseComments
	}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(v.fset, filepath.Join(p.Dir, name), nil, mode)
		if err != nil {
			return err
		}
		v.note(f)
		files = append(files, f)
	}
	var first error
	config := types.Config{
		Importer:         resolver{v, p.ImportMap},
		Sizes:            types.SizesFor("gc", v.target.arch),
		IgnoreFuncBodies: true,
		FakeImportC:      true,
		Error: func(err error) {
			// Only the types of Gale's API matter, and imports seem unused
			// where the bodies are not looked at.
			var e types.Error
			if first == nil && !p.Standard && !(errors.As(err, &e) && e.Soft) {
				first = err
			}
		},
	}
	pkg, _ := config.Check(p.ImportPath, v.fset, files, nil)
	v.packages[p.ImportPath] = pkg
	if first != nil {
		return fmt.Errorf("%s: %w", p.ImportPath, first)
	}
	return nil
}

// note remembers which names of a file are deprecated.
func (v *view) note(f *ast.File) {
	add := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		for _, d := range docs {
			if _, text, ok := strings.Cut("\n"+d.Text(), "\nDeprecated: "); ok {
				v.deprecated[id.Pos()] = strings.TrimSpace(text)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name, d.Doc, s.Doc)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id, d.Doc, s.Doc)
					}
				}
			}
		}
	}
}

// A resolver finds what a package imports among those that were checked.
type resolver struct {
	v       *view
	renamed map[string]string
}

func (r resolver) Import(name string) (*types.Package, error) {
	if to, ok := r.renamed[name]; ok {
		name = to
	}
	if p := r.v.packages[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s was not listed", name)
}
