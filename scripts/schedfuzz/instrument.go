package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/galehttp/gale/scripts/schedfuzz/delay"
	"github.com/galehttp/gale/tests/overlay"
)

// needed returns the packages of the library that the tests of folders need.
func needed(root string, dirs []string) ([]string, error) {
	args := []string{"list", "-deps", "-test", "-f", "{{if not (or .ForTest (eq .Name \"main\"))}}{{.ImportPath}}{{end}}"}
	text, err := goCommand(root, append(args, patterns(dirs)...)...)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, path := range strings.Fields(text) {
		if isLibrary(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("the tests of %s need no package of the library", strings.Join(dirs, " "))
	}
	return paths, nil
}

// isLibrary reports whether operations of a package are delayed: it is of the library, and no
// helper of tests. Packages in folders testdata are for the tests of this program.
func isLibrary(path string) bool {
	rest, ok := strings.CutPrefix(path+"/", overlay.Module+"/")
	if strings.Contains(rest, "/testdata/") {
		return ok
	}
	top, _, _ := strings.Cut(rest, "/")
	isHelper := top == "tests" || top == "scripts" || top == "internal" && strings.HasSuffix(rest, "test/")
	return ok && !isHelper
}

// instrument writes the copies of the library and their overlay, and collects the names of all
// operations that can be delayed.
func (s *session) instrument() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	packages, err := needed(root, s.packages)
	if err != nil {
		return err
	}
	s.root = root
	spec := overlay.Spec{Dir: root, Roots: packages, Rewrites: isLibrary}
	return overlay.Write(spec, filepath.Join(s.work, "overlay"), func(f *overlay.File) {
		rel, err := filepath.Rel(root, f.Name)
		if err != nil {
			rel = f.Name
		}
		r := rewriter{File: f, rel: filepath.ToSlash(rel)}
		r.rewrite()
		s.names = append(s.names, r.names...)
	})
}

// choices returns what GALE_DELAY_AT names. Each must mean an operation.
func (s *session) choices() ([]delay.Choice, error) {
	at, err := delay.ParseAt(os.Getenv(delay.AtVar))
	for _, c := range at {
		if !slices.ContainsFunc(s.names, func(name string) bool { return delay.Means(c.Where, name) }) {
			return nil, fmt.Errorf("%s: no package here has %s; -sites lists the names", delay.AtVar, c.Where)
		}
	}
	return at, err
}
