package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// What may be a short name of Windows is served only if it is the real name of a file: from a
// folder, from a file system, and as MayOpen says it for pages and archives.
func TestShortNames(t *testing.T) {
	dir, tree := t.TempDir(), fstest.MapFS{}
	for _, name := range []string{"GIT~1/config", "a/NOTES~1.TXT", "PROGRA~1/x/LONG~2/y", "plain"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatalf("making a folder: %v", err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatalf("writing: %v", err)
		}
		tree[name] = &fstest.MapFile{Data: []byte("text"), ModTime: time.Now()}
	}
	// lists only long names, as Windows does: each file has another name that it opens.
	aliased := aliases{tree, map[string]string{"GIT~1": ".git", "LONG~2": "long name"}}
	for _, tt := range []struct {
		path        string
		real, alias bool // whether it is served if the name is real, and if it is an alias
	}{
		{"/GIT~1/config", true, false},
		{"/a/NOTES~1.TXT", true, true},
		{"/PROGRA~1/x/LONG~2/y", true, false},
		{"/plain", true, true},
		{"/GIT~2/config", false, false},
		{"/a/GIT~1", false, false},
	} {
		rules := Rules{Windows: true}
		if got := rules.MayOpen(dir, []byte(tt.path)); got != tt.real {
			t.Errorf("%s: MayOpen is %t", tt.path, got)
		}
		for _, s := range []struct {
			name     string
			settings Settings
			want     bool
		}{
			{"folder", Settings{Root: dir, Rules: rules}, tt.real},
			{"FS", Settings{FS: tree, Rules: rules}, tt.real},
			{"FS with aliases", Settings{FS: aliased, Rules: rules}, tt.alias},
			{"folder, fresh", Settings{Root: dir, Rules: rules, Fresh: true}, tt.real},
		} {
			s.settings.MaxAge, s.settings.MaxOpenFiles = time.Minute, 10
			store := NewStore(s.settings)
			e, err := store.Open([]byte(tt.path), compress.Identity, new(Seen))
			if err == nil {
				e.Release()
			}
			if (err == nil) != s.want || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s: %v", s.name, tt.path, err)
			}
		}
	}
	if (Rules{Windows: true}).MayOpen(dir, []byte("/a:b")) || (Rules{Windows: true}).MayOpen(filepath.Join(dir, "none"), []byte("/GIT~1")) {
		t.Error("MayOpen allows what can't be opened")
	}
}

// aliases is a tree whose listings have other names for some files than those that it opens.
type aliases struct {
	fstest.MapFS
	long map[string]string
}

func (a aliases) Open(name string) (fs.File, error) {
	f, err := a.MapFS.Open(name)
	if list, ok := f.(fs.ReadDirFile); ok {
		return aliasedDir{list, a.long}, err
	}
	return f, err
}

type aliasedDir struct {
	fs.ReadDirFile
	long map[string]string
}

func (d aliasedDir) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := d.ReadDirFile.ReadDir(n)
	for i, e := range entries {
		if long, ok := d.long[e.Name()]; ok {
			entries[i] = aliasedEntry{e, long}
		}
	}
	return entries, err
}

type aliasedEntry struct {
	fs.DirEntry
	long string
}

func (e aliasedEntry) Name() string { return e.long }

// Names in listings: what is hidden in paths is hidden there.
func TestIsDotFile(t *testing.T) {
	for name, want := range map[string]bool{
		".": false, "": false, "..": true, ".a": true, "a.b": false, "\u200c.git": true, "\u200d\u200c.git": true, "\u200c": false,
		"\u200ca.b": false, "👨\u200d👩.png": false, "\u3164.env": true, "\ufff0.env": true,
	} {
		if got := IsDotFile([]byte(name)); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
