package lifetimes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// program is a program that runs.
type program struct {
	name    string // its folder
	handler gale.RequestHandler
	show    func() string // nil if the program logs
	run     []string      // the words after "run:"
}

func (p *program) bad() bool                 { return strings.HasPrefix(p.name, "bad/") }
func (p *program) kind() string              { return p.run[0] }
func (p *program) option(option string) bool { return slices.Contains(p.run[1:], option) }

// source is what the comments of a program say.
type source struct {
	name, category string
	level          int
	run            []string
	mistakes       map[string][]place // places where a report is wanted; one is enough for each key
}

// place is a line of a file. The file's name is relative to this folder.
type place struct {
	file string
	line int
}

var (
	headLine = regexp.MustCompile(`(?m)^// (category|level|run): (.*)$`)
	badLine  = regexp.MustCompile(`// BAD(:\d+)?$`)
)

// sources reads the comments of all programs.
func sources(t *testing.T) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	files, err := filepath.Glob("*/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s := readSource(t, filepath.Dir(file))
		all[s.name] = s
	}
	return all
}

func readSource(t *testing.T, folder string) *source {
	t.Helper()
	s := &source{name: filepath.ToSlash(folder), mistakes: map[string][]place{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	helpers, err := filepath.Glob(filepath.Join(folder, "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, helpers...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := badLine.FindStringSubmatch(line); m != nil {
				p := place{filepath.ToSlash(file), i + 1}
				key := m[1]
				if key == "" {
					key = p.file + ":" + strconv.Itoa(p.line)
				}
				s.mistakes[key] = append(s.mistakes[key], p)
			}
		}
		for _, m := range headLine.FindAllStringSubmatch(string(text), -1) {
			switch m[1] {
			case "category":
				s.category = m[2]
			case "level":
				s.level, _ = strconv.Atoi(m[2])
			case "run":
				s.run = strings.Fields(m[2])
			}
		}
	}
	return s
}

var kinds = []string{"object", "bytes", "pool", "framework", "stream", "paged", "vet", "ok"}

// TestPrograms: there are enough programs, their comments are complete, the bad ones have
// marks and the good ones have none, and the list of those that run is up to date.
func TestPrograms(t *testing.T) {
	count := map[string]int{}
	for name, s := range sources(t) {
		what, _, _ := strings.Cut(name, "/")
		count[what]++
		switch {
		case s.category == "" || s.level < 1 || s.level > 3 || len(s.run) == 0 || !slices.Contains(kinds, s.run[0]):
			t.Errorf("%s: incomplete comment: category %q, level %d, run %q", name, s.category, s.level, s.run)
		case what == "bad" && (len(s.mistakes) == 0 || s.run[0] == "ok"):
			t.Errorf("%s: a bad program without a mark, or with run: ok", name)
		case what == "good" && (len(s.mistakes) > 0 || s.run[0] != "ok"):
			t.Errorf("%s: a good program with a mark, or without run: ok", name)
		}
	}
	if count["bad"] < 60 || count["good"] < 60 {
		t.Errorf("%d bad and %d good programs, want 60 of each", count["bad"], count["good"])
	}
	before, err := os.ReadFile("programs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	cmd := exec.Command("sh", "-c", `cp -r bad good list go.mod go.sum "$1" && cd "$1" && go run ./list`, "sh", copied)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	after, err := os.ReadFile(filepath.Join(copied, "programs_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("programs_test.go is old: run go generate")
	}
}
