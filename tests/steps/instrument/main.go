// Command instrument writes copies of this module's sources that count their steps (see
// tests/steps/count), and an overlay that makes the go command use them instead of the
// sources:
//
//	go run ./tests/steps/instrument DIR
//	go test -overlay DIR/overlay.json -tags galesteps -vet off ./tests/steps
//
// It finds by types what it must rewrite: every function and loop; every built-in
// function, operator and conversion whose time depends on the length of its operands; and
// every call of a function that isn't rewritten itself, such as those of the standard
// library. New code needs no calls of package count. Line numbers don't change.
package main

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
	module = "github.com/galehttp/gale"
	own    = module + "/tests/steps"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: instrument DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	pkgs, exports, err := list()
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
		files, err := rewritePackage(fset, imp, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		for name, text := range files {
			to := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+"_"+filepath.Base(name))
			if err := os.WriteFile(to, text, 0o644); err != nil {
				return err
			}
			overlay.Replace[name] = to
		}
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
}

// list returns the packages of the module that must be rewritten, and the files
// with the export data of all packages that they need.
func list() (pkgs []pkg, exports map[string]string, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles",
		module, module+"/adaptor", module+"/galeutil", module+"/galetest", module+"/proxy")
	cmd.Stderr = os.Stderr
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
		if isOwn(p.ImportPath) {
			pkgs = append(pkgs, p)
		}
	}
}

// isOwn reports whether a package is rewritten.
func isOwn(path string) bool {
	return (path == module || strings.HasPrefix(path, module+"/")) && !strings.HasPrefix(path, own)
}

func rewritePackage(fset *token.FileSet, imp types.Importer, p pkg) (map[string][]byte, error) {
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
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	if _, err := (&types.Config{Importer: imp}).Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, f := range files {
		name := fset.File(f.Pos()).Name()
		r := &rewriter{fset: fset, info: info, text: sources[name], replaced: map[string]string{}}
		out[name] = r.file(f)
	}
	return out, nil
}
