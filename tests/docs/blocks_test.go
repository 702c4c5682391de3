package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the checkout.
const root = "../.."

// block is a fenced block of a document.
type block struct {
	doc     string // its path below root, with slashes
	line    int    // of its first line of text, from 1
	lang    string
	comment string // what its test comment says, without "test:"
	text    string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.doc, b.line) }

var commentRx = regexp.MustCompile(`^<!-- test: (.*) -->$`)

// blocksOf returns the fenced blocks of a document.
func blocksOf(t *testing.T, doc string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(doc)))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	comment, inside := "", false
	for i, line := range strings.Split(string(text), "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case inside && line == "```":
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line + "\n"
		case fence:
			blocks = append(blocks, block{doc: doc, line: i + 2, lang: line[3:], comment: comment})
			inside = true
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			t.Errorf("%s:%d: the fence is indented", doc, i+1)
		case comment != "":
			t.Errorf("%s:%d: no block follows the test comment", doc, i+1)
		}
		comment = ""
		if m := commentRx.FindStringSubmatch(line); m != nil && !inside {
			comment = m[1]
		}
	}
	if inside {
		t.Errorf("%s: the last block has no end", doc)
	}
	return blocks
}

// documents lists the documents whose Go code is tested.
func documents(t *testing.T) []string {
	t.Helper()
	var docs []string
	for _, doc := range allDocuments(t) {
		if doc == "README.md" || doc == "examples/README.md" || strings.HasPrefix(doc, "docs/") {
			docs = append(docs, doc)
		}
	}
	return docs
}

// allDocuments lists the Markdown files of the checkout.
func allDocuments(t *testing.T) []string {
	t.Helper()
	var docs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			rel, err := filepath.Rel(root, path)
			docs = append(docs, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}
