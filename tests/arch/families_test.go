package arch

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// families is the table of ARCHITECTURE.md that gives each file of the root package
// a family, and each family a layer.
type families struct {
	// level is the level of each layer, from 0 up. Layers of the same level don't use
	// each other.
	level map[string]int
	rows  []family
}

// family is a row of the table. The prefix "uri" has the files uri.go and uri_*.go. If
// two prefixes fit a file, the longer one has it.
type family struct {
	layer, name string
	prefixes    []string
}

// of returns the family of a file, or nil.
func (fs *families) of(file string) *family {
	var best *family
	longest := 0
	for i := range fs.rows {
		for _, p := range fs.rows[i].prefixes {
			if len(p) > longest && (file == p+".go" || strings.HasPrefix(file, p+"_")) {
				best, longest = &fs.rows[i], len(p)
			}
		}
	}
	return best
}

// mayUse reports whether files of layer may use unexported names of layer used.
func (fs *families) mayUse(layer, used string) bool {
	return layer == used || fs.level[used] < fs.level[layer]
}

var (
	layersLine = regexp.MustCompile(`(?m)^ *(\w+(?: (?:<-|\|) \w+)+)$`)
	familyRow  = regexp.MustCompile(`(?m)^\| (\w+) \| (\w+) \| ((?:` + "`[a-z0-9_]+`" + `(?:, )?)+) \|`)
)

// readFamilies reads the section "Families of the root package" of ARCHITECTURE.md:
// a line such as "a <- b <- c | d", and the table.
func readFamilies(t *testing.T) *families {
	t.Helper()
	_, section, ok := strings.Cut(architecture(t), "\n## Families of the root package\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no section about the families of the root package")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	line := layersLine.FindStringSubmatch(section)
	if line == nil {
		t.Fatal("ARCHITECTURE.md doesn't say how the layers follow each other")
	}
	fs := &families{level: make(map[string]int)}
	for i, layers := range strings.Split(line[1], " <- ") {
		for layer := range strings.SplitSeq(layers, " | ") {
			fs.level[layer] = i
		}
	}
	for _, row := range familyRow.FindAllStringSubmatch(section, -1) {
		if _, ok := fs.level[row[1]]; !ok {
			t.Errorf("ARCHITECTURE.md: family %s is in the layer %s, which is not in %q", row[2], row[1], line[1])
		}
		prefixes := strings.Split(strings.ReplaceAll(row[3], "`", ""), ", ")
		fs.rows = append(fs.rows, family{layer: row[1], name: row[2], prefixes: prefixes})
	}
	if rows := strings.Count(section, "\n| ") - 1; len(fs.rows) != rows { // the first is the head
		t.Fatalf("ARCHITECTURE.md: %d of %d rows of the table can be read", len(fs.rows), rows)
	}
	return fs
}

// rootFiles returns the names of the root package's files, without tests, for all
// systems.
func rootFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, s := range sources(t) {
		if s.dir == "" && !s.test {
			files = append(files, s.file)
		}
	}
	return files
}

// TestFamilies: each file of the root package is in one family, and each prefix of the
// table has files.
func TestFamilies(t *testing.T) {
	fs := readFamilies(t)
	used := make(map[string]bool)
	for _, file := range rootFiles(t) {
		f := fs.of(file)
		if f == nil {
			t.Errorf("%s is in no family: name it after one in the table of ARCHITECTURE.md, or add a row", file)
			continue
		}
		for _, p := range f.prefixes {
			if file == p+".go" || strings.HasPrefix(file, p+"_") {
				used[p] = true
			}
		}
	}
	seen := make(map[string]string)
	for _, f := range fs.rows {
		for _, p := range f.prefixes {
			if !used[p] {
				t.Errorf("ARCHITECTURE.md: prefix %s of family %s has no file: remove it", p, f.name)
			}
			if other, ok := seen[p]; ok {
				t.Errorf("ARCHITECTURE.md: prefix %s is in the families %s and %s: a file has one", p, other, f.name)
			}
			seen[p] = f.name
		}
	}
}

// TestFamiliesInDoc: doc.go lists the families of each layer as the table does.
func TestFamiliesInDoc(t *testing.T) {
	fs := readFamilies(t)
	b, err := os.ReadFile(filepath.Join("..", "..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string][]string)
	for _, f := range fs.rows {
		names[f.layer] = append(names[f.layer], f.name)
	}
	for layer, families := range names {
		want := regexp.MustCompile(`(?m)^//\s+` + layer + `\s+` + strings.Join(families, ", ") + `$`)
		if !want.Match(b) {
			t.Errorf("doc.go needs the line %q", "//\t"+layer+"\t"+strings.Join(families, ", "))
		}
	}
}

// TestLayers: files of the root package use unexported names (of the package, of methods
// and of fields) of their own layer and of those below it only.
func TestLayers(t *testing.T) {
	fs := readFamilies(t)
	all := library(t)
	root := all[slices.IndexFunc(all, func(p checked) bool { return p.path == module })]
	base := func(pos token.Pos) (file string, line int) {
		p := root.fset.Position(pos)
		return filepath.Base(p.Filename), p.Line
	}
	uses := 0
	var wrong []string
	for id, obj := range root.info.Uses {
		if obj.Exported() || obj.Pkg() == nil || obj.Pkg().Path() != module || !isShared(obj) {
			continue
		}
		uses++
		file, line := base(id.Pos())
		from, _ := base(obj.Pos())
		user, owner := fs.of(file), fs.of(from)
		if user == nil || owner == nil || fs.mayUse(user.layer, owner.layer) {
			continue // TestFamilies complains about the first two
		}
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s (%s) uses %s of %s (%s): move the name to a file of a layer that both may use, "+
			"or pass it in", file, line, user.name, user.layer, obj.Name(), from, owner.layer))
	}
	if uses < 1000 {
		t.Fatalf("found only %d uses", uses)
	}
	slices.Sort(wrong)
	for _, w := range wrong {
		t.Error(w)
	}
}

// isShared reports whether other files can use obj: it is a field, a method, or declared
// outside of functions.
func isShared(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Var:
		return obj.IsField() || obj.Parent() == obj.Pkg().Scope()
	case *types.Func:
		return true
	}
	return obj.Parent() == obj.Pkg().Scope()
}
