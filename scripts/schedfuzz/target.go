package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale/tests/overlay"
)

// omitted are tests that prove nothing, or take too long, when goroutines are late.
var omitted = []struct {
	name   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`Alloc`), "they count allocations"},
	{regexp.MustCompile(`Weight|^TestMemory`), "they measure the memory of connections"},
	{regexp.MustCompile(`Soak`), "they run for a time, at random themselves"},
	{regexp.MustCompile(`Fuzz|Bench`), "they run fuzz targets or benchmarks"},
}

// target is the tests of a folder.
type target struct {
	root    string // the module's folder
	dir     string // in it
	binary  string
	tests   []string
	omitted map[string]int // how many tests, by reason
	engines bool           // the tests read GALE_ENGINE
}

// moduleRoot returns the folder of the module that the program is started in.
func moduleRoot() (string, error) {
	text, err := goCommand("", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	path, dir, _ := strings.Cut(strings.TrimSpace(text), " ")
	if err == nil && path != overlay.Module {
		err = fmt.Errorf("start it in a folder of module %s, not of %s", overlay.Module, path)
	}
	return dir, err
}

// patterns returns folders of the module as arguments of the go command.
func patterns(dirs []string) []string {
	all := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		all = append(all, "./"+filepath.ToSlash(filepath.Clean(dir)))
	}
	return all
}

// goCommand runs the go command and returns what it prints.
func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// build builds the tests of all packages.
func (s *session) build(ctx context.Context) error {
	for _, pattern := range patterns(s.packages) {
		t := &target{dir: strings.TrimPrefix(pattern, "./"), root: s.root, omitted: map[string]int{}}
		files, err := t.testFiles()
		if err == nil {
			err = t.read(files)
		}
		if err == nil {
			err = t.build(ctx, s.work)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.dir, err)
		}
		s.targets = append(s.targets, t)
		for _, o := range omitted {
			if n := t.omitted[o.reason]; n > 0 {
				fmt.Fprintf(s.out, "%s: left out %d: %s\n", t.dir, n, o.reason)
			}
		}
	}
	return nil
}

// build builds the tests with the overlay in work.
func (t *target) build(ctx context.Context, work string) error {
	if len(t.tests) == 0 {
		return errors.New("there are no tests")
	}
	t.binary = filepath.Join(work, t.fileName()+".test")
	overlay := filepath.Join(work, "overlay", overlay.Name)
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", t.binary, "./"+t.dir)
	cmd.Dir, cmd.Stderr = t.root, os.Stderr
	return cmd.Run()
}

// fileName returns a name for files about the folder.
func (t *target) fileName() string {
	if t.dir == "." {
		return "root"
	}
	return strings.ReplaceAll(t.dir, "/", "_")
}

// testFiles returns the test files, except those that the race detector excludes.
func (t *target) testFiles() (files []string, err error) {
	var usual, race struct {
		TestGoFiles, XTestGoFiles []string
	}
	for tags, p := range map[string]any{"": &usual, "race": &race} {
		text, err := goCommand(t.root, "list", "-tags="+tags, "-json=TestGoFiles,XTestGoFiles", "./"+t.dir)
		if err == nil {
			err = json.Unmarshal([]byte(text), p)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Concat(usual.TestGoFiles, usual.XTestGoFiles) {
		if slices.Contains(race.TestGoFiles, name) || slices.Contains(race.XTestGoFiles, name) {
			files = append(files, filepath.Join(t.root, t.dir, name))
		}
	}
	return files, nil
}

// read finds the tests in files, and whether they read GALE_ENGINE: TestMain calls peers.Main
// then.
func (t *target) read(files []string) error {
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			if fn.Name.Name == "TestMain" {
				t.engines = callsMain(fn)
			} else if reason := omission(fn.Name.Name); reason != "" {
				t.omitted[reason]++
			} else if isTest(fn.Name.Name) {
				t.tests = append(t.tests, fn.Name.Name)
			}
		}
	}
	return nil
}

func callsMain(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && types.ExprString(sel) == "peers.Main"
		return true
	})
	return found
}

// isTest reports whether the go command takes a function for a test.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLower(first)
}

// omission says why a test is left out. It returns "" for others.
func omission(name string) (reason string) {
	for _, o := range omitted {
		if isTest(name) && o.name.MatchString(name) {
			return o.reason
		}
	}
	return ""
}
