package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	linkRx    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeRx    = regexp.MustCompile("`[^`]*`")
	headingRx = regexp.MustCompile(`^#{1,6} +(.*)$`)
)

// TestLinks looks for relative links in the documents that lead nowhere.
func TestLinks(t *testing.T) {
	anchors := make(map[string]map[string]bool)
	for _, doc := range allDocuments(t) {
		anchors[doc] = anchorsOf(prose(t, doc))
	}
	for doc := range anchors {
		for i, line := range prose(t, doc) {
			for _, m := range linkRx.FindAllStringSubmatch(codeRx.ReplaceAllString(line, ""), -1) {
				if err := checkLink(doc, m[1], anchors); err != nil {
					t.Errorf("%s:%d: %s: %v", doc, i+1, m[1], err)
				}
			}
		}
	}
}

// checkLink returns an error if a link leads nowhere. Those to other hosts aren't
// looked at.
func checkLink(doc, link string, anchors map[string]map[string]bool) error {
	u, err := url.Parse(link)
	if err != nil {
		return err
	}
	if u.Scheme != "" {
		return nil
	}
	if u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return fmt.Errorf("not relative")
	}
	target := doc
	if u.Path != "" {
		target = path.Join(path.Dir(doc), u.Path)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
		return fmt.Errorf("there is no %s", target)
	}
	if u.Fragment != "" && !anchors[target][u.Fragment] {
		return fmt.Errorf("there is no such heading in %s", target)
	}
	return nil
}

// prose returns the lines of a document; those of fenced blocks are empty.
func prose(t *testing.T, doc string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(doc)))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if fence || inside {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return lines
}

// anchorsOf returns the fragments that lead to headings, as GitHub makes them.
func anchorsOf(lines []string) map[string]bool {
	anchors := make(map[string]bool)
	for _, line := range lines {
		m := headingRx.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		unique := slug
		for n := 1; anchors[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", slug, n)
		}
		anchors[unique] = true
	}
	return anchors
}
