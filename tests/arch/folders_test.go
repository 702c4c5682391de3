package arch

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var folderRow = regexp.MustCompile("(?m)^\\| ((?:`[^`]+`(?:, )?)+) \\| \\S")

// TestFolders: the table "Folders" of ARCHITECTURE.md names each folder of the tree that
// has files, and no other one. "NAME/..." is a folder with all below it.
func TestFolders(t *testing.T) {
	listed := readFolders(t)
	tree := treeFolders(t)
	for _, dir := range tree {
		if !slices.ContainsFunc(listed, func(row string) bool { return covers(row, dir) }) {
			t.Errorf("%s is in no row: add \"| `%s` | what it has |\" to the table \"Folders\" of ARCHITECTURE.md", dir, dir)
		}
	}
	for _, row := range listed {
		if !slices.ContainsFunc(tree, func(dir string) bool { return covers(row, dir) }) {
			t.Errorf("ARCHITECTURE.md: no file is in %s: remove it from the table \"Folders\"", row)
		}
	}
}

// covers reports whether a name of the table means this folder.
func covers(row, dir string) bool {
	top, all := strings.CutSuffix(row, "/...")
	return dir == top || all && strings.HasPrefix(dir, top+"/")
}

// readFolders returns the names in the first column of the table.
func readFolders(t *testing.T) (names []string) {
	t.Helper()
	_, section, ok := strings.Cut(architecture(t), "\n## Folders\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no section about folders")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := folderRow.FindAllStringSubmatch(section, -1)
	if n := strings.Count(section, "\n| ") - 1; len(rows) != n { // the first is the head
		t.Fatalf("ARCHITECTURE.md: %d of %d rows of the table \"Folders\" can be read", len(rows), n)
	}
	for _, row := range rows {
		for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if slices.Contains(names, name) {
				t.Errorf("ARCHITECTURE.md: %s is twice in the table \"Folders\"", name)
			}
			names = append(names, name)
		}
	}
	return names
}

// treeFolders returns the folders that have files of the repository. A folder testdata
// counts as the folder that has it.
func treeFolders(t *testing.T) (dirs []string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("only git knows which files belong to the repository, and git ls-files failed: %v", err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(cmd.Dir, filepath.FromSlash(file))); err != nil {
			continue // it was removed, and that isn't committed yet
		}
		dir := path.Dir(file)
		if dir == "testdata" || strings.HasPrefix(dir, "testdata/") {
			dir = "."
		}
		dir, _, _ = strings.Cut(dir, "/testdata")
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) < 100 {
		t.Fatalf("found only %d folders", len(dirs))
	}
	return dirs
}

// TestArchitectureLines: no line of ARCHITECTURE.md is so long that a terminal or a review
// breaks it.
func TestArchitectureLines(t *testing.T) {
	const most = 120
	for i, line := range strings.Split(architecture(t), "\n") {
		if n := utf8.RuneCountInString(line); n > most {
			t.Errorf("ARCHITECTURE.md:%d has %d characters, at most %d are allowed", i+1, n, most)
		}
	}
}

// architecture returns the text of ARCHITECTURE.md.
func architecture(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
