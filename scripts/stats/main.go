// Stats prints the shape of the code, a row for each part of it: the sizes of files
// and functions, what comments say, the share of tests. It judges nothing; style is
// for readers.
//
//	go run ./scripts/stats [DIR]
//
// Tests, generated files and folders named testdata are left out, except in the
// columns about tests. The columns:
//
//	files, lines        lines as wc -l counts them
//	file med/p90/max    lines of a file: median, 90th percentile, largest
//	in >500 />1000      share of the lines that lie in files longer than that
//	func med/p90/max    lines of a function, from func to its last brace
//	>50                 share of the functions that are longer
//	nest                how deep blocks nest in a function, 90th percentile
//	cmt                 comment lines in a hundred of comment and code lines
//	RFC, contract       citations of RFCs, and words of contracts (must not, valid
//	                    until, owned, owns, caller, invariant), in 1,000 lines
//	doc                 share of the exported functions, methods and types that have
//	                    a comment, methods of unexported types included
//	test/code           lines of tests, for each line of code. The black-box tests of
//	                    package gale, in folders of tests/, count for root and library
//	Fuzz/Bench/Ex       how many there are
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// A part is a row: the packages whose folders match.
type part struct {
	name  string
	match func(dir string) bool
}

// outside are the folders that are no part of the library: tests, tools and
// measurements of it.
var outside = []string{"bench", "compat", "examples", "scripts", "tests", "lab"}

func isLibrary(dir string) bool {
	for _, o := range outside {
		if within(o)(dir) {
			return false
		}
	}
	return true
}

func within(folder string) func(string) bool {
	return func(dir string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }
}

// blackBox reports whether dir has black-box tests of package gale, or what they share.
func blackBox(dir string) bool {
	for _, name := range []string{"server", "client", "h2", "files", "message", "harness"} {
		if within("tests/" + name)(dir) {
			return true
		}
	}
	return false
}

var parts = []part{
	{"library", isLibrary},
	{"root", func(dir string) bool { return dir == "." }},
	{"internal/*", within("internal")},
	{"internal/engine", within("internal/engine")},
	{"internal/h1", within("internal/h1")},
	{"internal/msg", within("internal/msg")},
	{"internal/static", within("internal/static")},
	{"adaptor", within("adaptor")},
	{"cmd/gale", within("cmd/gale")},
	{"all", func(string) bool { return true }},
}

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	counts := make([]counts, len(parts))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || len(name) > 1 && name[0] == '.') {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := readFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for i, p := range parts {
			switch dir := filepath.ToSlash(rel); {
			case p.match(dir):
				counts[i].add(f, false)
			case blackBox(dir) && (p.name == "library" || p.name == "root"):
				counts[i].add(f, true)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("| | files | lines | file med/p90/max | in >500 / >1000 | func med/p90/max | >50 | nest | cmt | RFC /k | contract /k | doc | test/code | Fuzz/Bench/Ex |")
	fmt.Println("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
	for i, p := range parts {
		fmt.Printf("| %s | %s |\n", p.name, strings.Join(counts[i].columns(), " | "))
	}
}
