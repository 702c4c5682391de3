package docs

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var linkTextRx = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// TestFirstSentence: README.md and the package comment say in the same words what Gale is.
func TestFirstSentence(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, readme, ok := strings.Cut(string(text), "# Gale\n\n")
	if !ok {
		t.Fatal("README.md doesn't begin with its title")
	}
	readme, _, _ = strings.Cut(readme, "\n\n")
	readme = linkTextRx.ReplaceAllString(readme, "$1")

	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimPrefix(new(doc.Package).Synopsis(f.Doc.Text()), "Package gale ")
	if "Gale "+got != readme {
		t.Errorf("README.md begins with %q\n   doc.go begins with \"Package gale %s\":\nthey must say the same", readme, got)
	}
}
