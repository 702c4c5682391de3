package english

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the repository.
var root = filepath.Join("..", "..")

// TestEnglish finds no phrase of the table in any text, except those listed with a reason.
// GALE_ENGLISH names parts of the repository to look at, such as docs/guides/ or server.go.
func TestEnglish(t *testing.T) {
	only := strings.Fields(os.Getenv("GALE_ENGLISH"))
	used := make([]bool, len(exceptions))
	seen := 0
	for _, file := range files(t) {
		all, err := pieces(root, file)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(all)
		for i := range all {
			for j := range patterns {
				for _, found := range find(&all[i], &patterns[j]) {
					if !excepted(used, file, found.sentence) && wanted(only, file) {
						t.Errorf("%s:%d: %q, write %s: %s", file, found.line, found.text, patterns[j].plain, found.sentence)
					}
				}
			}
		}
	}
	if seen < 1000 {
		t.Fatalf("found only %d texts", seen)
	}
	for i, e := range exceptions {
		if e.reason == "" {
			t.Errorf("%s: the exception for %q has no reason", e.file, e.text)
		}
		if !used[i] {
			t.Errorf("%s has no finding with %q any more: remove the exception", e.file, e.text)
		}
	}
}

// finding is a place that has the phrase of a pattern.
type finding struct {
	line           int
	text, sentence string
}

func find(p *piece, pat *pattern) []finding {
	if p.scope < pat.scope || p.heading && pat.noHeading || p.quoted && pat.scope != everywhere {
		return nil
	}
	raw := p.raw
	if raw == "" {
		raw = p.text
	}
	var all []finding
	for _, at := range pat.compiled.FindAllStringIndex(p.text, -1) {
		begin, end := p.sentence(at[0], at[1])
		if !pat.isRight(strings.TrimSpace(p.text[begin:end])) {
			text := strings.Trim(raw[at[0]:at[1]], " .:")
			all = append(all, finding{p.line(at[0]), shorten(text, 60), shorten(strings.TrimSpace(raw[begin:end]), 240)})
		}
	}
	return all
}

func shorten(s string, n int) string {
	if len(s) > n {
		return fmt.Sprintf("%s...", s[:n])
	}
	return s
}

func excepted(used []bool, file, sentence string) bool {
	for i, e := range exceptions {
		if e.file == file && strings.Contains(sentence, e.text) {
			used[i] = true
			return true
		}
	}
	return false
}

func wanted(only []string, file string) bool {
	for _, prefix := range only {
		if strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return len(only) == 0
}

// files returns the files of the repository from its top, with slashes.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (name == "testdata" || name == ".git") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
