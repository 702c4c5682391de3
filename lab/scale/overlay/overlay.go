// Package overlay writes copies of the library's sources that count which words they
// write and read (see lab/scale/count), and an overlay that makes the go command use them
// instead of the sources.
//
// It finds by types what it must rewrite: methods of sync/atomic and sync, functions of
// sync/atomic, operations on channels, timers and, if asked, plain writes of fields
// through a pointer. New code needs no calls of package count. Line numbers don't change.
// The words of the runtime and of package net aren't seen.
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
	"strings"
)

const (
	module  = "github.com/galehttp/gale"
	counted = module + "/lab/scale/count"
)

// A Site is an operation in the source.
type Site struct {
	// At is the file, below the module's folder, and the line.
	At string
	// Word is what it works on: package, type and field, such as engine.loop.mu.
	Word string
	// Kind is "atomic", "lock", "pool", "channel", "timer" or "plain". Op is the name of
	// the method or function.
	Kind, Op string
}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// Write writes the copies and overlay.json to dir, which it makes, for the packages that
// package root (such as ./scale/target, relative to lab) needs. plain says whether plain
// writes are counted. The result is indexed by the numbers that package count reports.
func Write(lab, root, dir string, plain bool) ([]Site, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	pkgs, exports, err := list(lab, root)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
	var sites []Site
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, p := range pkgs {
		files, err := rewritePackage(fset, imp, p, plain, &sites)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		for name, text := range files {
			to := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+"_"+filepath.Base(name))
			if err := os.WriteFile(to, text, 0o644); err != nil {
				return nil, err
			}
			overlay.Replace[name] = to
		}
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return nil, err
	}
	return sites, os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
}

// list returns the packages that must be rewritten, and the files with the export data of
// all packages that they need.
func list(lab, root string) (pkgs []pkg, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", root)
	cmd.Dir, cmd.Stderr = lab, os.Stderr
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
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") && !strings.HasPrefix(p.ImportPath, module+"/lab") {
			pkgs = append(pkgs, p)
		}
	}
}

// rewritePackage returns the new texts of the files that must change.
func rewritePackage(fset *token.FileSet, imp types.Importer, p pkg, plain bool, sites *[]Site) (map[string][]byte, error) {
	var files []*ast.File
	sources := map[string][]byte{}
	for _, name := range p.GoFiles {
		name = filepath.Join(p.Dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, sources[name] = append(files, f), text
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	checked, err := (&types.Config{Importer: imp}).Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	out := map[string][]byte{}
	for _, f := range files {
		name := fset.File(f.Pos()).Name()
		r := &rewriter{fset: fset, info: info, text: sources[name], pkg: checked, plain: plain, sites: sites,
			at: filepath.ToSlash(filepath.Join(folder, filepath.Base(name)))}
		if text := r.file(f); text != nil {
			out[name] = text
		}
	}
	return out, nil
}
