package main

import (
	"fmt"
	"go/build/constraint"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A compat is one package of the module, as it is on all targets.
type compat struct {
	from, to string // import paths
	pkgName  string // of Gale
	// files has the names by the constraint under which they are there, ""
	// for everywhere.
	files map[string][]*name
}

// merge brings together what the package from of Gale is on all targets.
func merge(from, to string, views []*view) (*compat, error) {
	c := &compat{from: from, to: to, files: map[string][]*name{}}
	type variant struct {
		*name
		targets     int
		constraints []string
	}
	found := map[string][]*variant{} // by name
	for _, v := range views {
		pkg := v.packages[from]
		if pkg == nil {
			return nil, fmt.Errorf("there is no package %s", from)
		}
		c.pkgName = pkg.Name()
		w := writer{pkg: pkg, to: to}
		for _, id := range pkg.Scope().Names() {
			obj := pkg.Scope().Lookup(id)
			if !obj.Exported() {
				continue
			}
			n, err := w.declare(obj)
			if err != nil {
				return nil, err
			}
			n.deprecated = v.deprecated[obj.Pos()]
			where, err := constraintOf(v.fset.Position(obj.Pos()).Filename)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(found[id], func(v *variant) bool { return v.text == n.text })
			if i < 0 {
				i = len(found[id])
				found[id] = append(found[id], &variant{name: n})
			}
			f := found[id][i]
			f.targets++
			if !slices.Contains(f.constraints, where) {
				f.constraints = append(f.constraints, where)
			}
		}
	}
	for id, variants := range found {
		for _, f := range variants {
			where := ""
			if f.targets < len(views) {
				if slices.Contains(f.constraints, "") {
					return nil, fmt.Errorf("%s.%s is not the same on all targets: declare it in files with build constraints", from, id)
				}
				slices.Sort(f.constraints)
				where = strings.Join(f.constraints, " || ")
			}
			c.files[where] = append(c.files[where], f.name)
		}
	}
	for _, names := range c.files {
		slices.SortFunc(names, func(a, b *name) int { return strings.Compare(a.name, b.name) })
	}
	return c, nil
}

// systems are those that the end of a file's name may ask for.
var systems = []string{
	"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "linux", "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows",
}

// processors are likewise.
var processors = []string{
	"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "wasm",
}

// constraintOf returns the build constraint of a file, in its text and in its
// name, or "" if it has none.
func constraintOf(file string) (string, error) {
	var terms []string
	parts := strings.Split(strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".go"), "_")
	if n := len(parts); n > 1 && slices.Contains(processors, parts[n-1]) {
		terms = append(terms, parts[n-1])
		parts = parts[:n-1]
	}
	if n := len(parts); n > 1 && slices.Contains(systems, parts[n-1]) {
		terms = append(terms, parts[n-1])
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(src)) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		x, err := constraint.Parse(strings.TrimSpace(line))
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		terms = append(terms, "("+x.String()+")")
	}
	slices.Sort(terms)
	if len(terms) == 1 {
		return strings.TrimSuffix(strings.TrimPrefix(terms[0], "("), ")"), nil
	}
	return strings.Join(terms, " && "), nil
}
