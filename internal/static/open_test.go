package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// What a path stands for, and why it stands for nothing, in directories of the system and
// in trees.
func TestOpenPaths(t *testing.T) {
	files := map[string]string{
		"a.txt": "a", "sub/b.txt": "b", "both/index.html": "html", "both/index.txt": "text",
		"second/index.txt": "text", "folder/index.html/x": "x", "folder/index.txt": "text", ".git/config": "git",
	}
	dir, tree := t.TempDir(), fstest.MapFS{}
	for name, data := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), data)
		tree["root/"+name] = &fstest.MapFile{Data: []byte(data)}
	}
	indexes := []string{"index.html", "index.txt"}
	for what, s := range map[string]*Store{
		"a root":         NewStore(Settings{Root: dir, IndexNames: indexes, Rules: Rules{HideDot: true}}),
		"an open root":   NewStore(Settings{Root: dir, IndexNames: indexes, Rules: Rules{HideDot: true}, FollowOut: true}),
		"a cached root":  NewStore(Settings{Root: dir, IndexNames: indexes, Rules: Rules{HideDot: true}, MaxAge: time.Hour, MaxOpenFiles: 16}),
		"an os.DirFS":    NewStore(Settings{FS: os.DirFS(filepath.Dir(dir)), Root: filepath.Base(dir), IndexNames: indexes, Rules: Rules{HideDot: true}}),
		"a tree":         NewStore(Settings{FS: tree, Root: "/root/", IndexNames: indexes, Rules: Rules{HideDot: true}}),
		"a plain tree":   NewStore(Settings{FS: plainTree{tree}, Root: "root", IndexNames: indexes, Rules: Rules{HideDot: true}}),
		"a tree's links": NewStore(Settings{FS: tree, Root: "root", IndexNames: indexes, Rules: Rules{HideDot: true}, FollowOut: true}),
	} {
		for _, tt := range []struct {
			path, want string
			err        error
		}{
			{"/a.txt", "a", nil},
			{"a.txt", "a", nil},
			{"//./a.txt", "a", nil},
			{"/sub//b.txt", "b", nil},
			{"/both/", "html", nil},
			{"/both/.", "", ErrIsDir},
			{"/second/", "text", nil},
			{"/folder/", "text", nil}, // index.html is a directory there
			{"/both", "", ErrIsDir},
			{"/sub/", "", ErrNoIndex},
			{"/", "", ErrNoIndex},
			{"/a.txt/", "", ErrIsFile},
			{"/a.txt/.", "", ErrIsFile},
			{"/none", "", fs.ErrNotExist},
			{"/none/", "", fs.ErrNotExist},
			{"/.git/config", "", fs.ErrNotExist},
			{"/a\x00.txt", "", ErrZeroByte},
			{"/sub/../a.txt", "", ErrDotDot},
			{"..", "", ErrDotDot},
		} {
			for range 2 { // once from the cache, if there is one
				e, err := s.Open([]byte(tt.path), compress.Identity, new(Seen))
				if !errors.Is(err, tt.err) {
					t.Errorf("%s: %q: %v, want %v", what, tt.path, err, tt.err)
				}
				if err != nil {
					continue
				}
				if got := content(t, s, e); got != tt.want {
					t.Errorf("%s: %q: %q, want %q", what, tt.path, got, tt.want)
				}
				e.Release()
			}
		}
		s.closeIdle()
	}
}

// A root that is a file is found as "/", and has the type of its own name. Its compressed
// variant has the same type, and leaves no file behind.
func TestRootIsFile(t *testing.T) {
	root := filepath.Join(t.TempDir(), "page.css")
	write(t, root, prose)
	closed := gzipping()
	closed.Root = root
	linked := closed
	linked.FollowOut = true
	for what, s := range map[string]*Store{"a root": NewStore(closed), "an open root": NewStore(linked)} {
		e := open(t, s, "/", compress.Identity)
		if e.ContentType != "text/css; charset=utf-8" || content(t, s, e) != prose {
			t.Errorf("%s: %d bytes of type %q", what, e.Size, e.ContentType)
		}
		coded := open(t, s, "/", compress.Gzip)
		if coded.Coding != compress.Gzip || coded.ContentType != e.ContentType || coded.Size >= e.Size {
			t.Errorf("%s: a variant of %d bytes, coding %v, type %q", what, coded.Size, coded.Coding, coded.ContentType)
		}
		if _, err := s.Open([]byte("/page.css"), compress.Identity, new(Seen)); err == nil {
			t.Errorf("%s: there is something below the file", what)
		}
		if list, err := os.ReadDir(filepath.Dir(root)); err != nil || len(list) != 1 {
			t.Errorf("%s: beside the file is %v, %v", what, list, err)
		}
		s.closeIdle()
	}
}

// CheckRoot tells why a directory of the system has nothing to serve, of nothing else.
func TestCheckRoot(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	for what, tt := range map[string]struct {
		settings Settings
		path     string
		missing  bool
	}{
		"there":         {Settings{Root: dir}, dir, false},
		"not there":     {Settings{Root: gone}, gone, true},
		"any path":      {Settings{AllowEmptyRoot: true}, "", false},
		"a tree":        {Settings{FS: fstest.MapFS{}, Root: "gone"}, "", false},
		"of an os.Root": {Settings{FS: os.DirFS(dir), Root: "gone"}, "", false},
	} {
		path, err := NewStore(tt.settings).CheckRoot()
		if path != tt.path || errors.Is(err, fs.ErrNotExist) != tt.missing || !tt.missing && err != nil {
			t.Errorf("%s: %q, %v", what, path, err)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if path, err := NewStore(Settings{}).CheckRoot(); path != wd || err != nil {
		t.Errorf("no root: %q, %v, want the working directory", path, err)
	}
}

// With an empty root paths are those of the system.
func TestOpenAnyPath(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.txt")
	write(t, name, "data")
	s := NewStore(Settings{AllowEmptyRoot: true, Rules: Rules{Windows: os.PathSeparator == '\\', Volume: true}})
	if got := get(t, s, filepath.ToSlash(name)); got != "data" {
		t.Errorf("got %q", got)
	}
}

// A file is served from memory until it is too old; then it is what it has become, or gone.
func TestCachedFileChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.txt")
	synctest.Test(t, func(t *testing.T) {
		const age = 10 * time.Second
		s := NewStore(Settings{Root: filepath.Dir(name), MaxAge: age})
		for _, data := range []string{"one", "three", ""} {
			before := "gone"
			if e, err := s.Open([]byte("/f.txt"), compress.Identity, new(Seen)); err == nil {
				before = content(t, s, e)
			}
			write(t, name, data)
			if e, err := s.Open([]byte("/f.txt"), compress.Identity, new(Seen)); err == nil && before != "gone" && content(t, s, e) != before {
				t.Errorf("%q: it is cached", content(t, s, e))
			}
			time.Sleep(age)
			if got := get(t, s, "/f.txt"); got != data {
				t.Errorf("%q, want %q: the cache is too old", got, data)
			}
			time.Sleep(age - 1)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if got := get(t, s, "/f.txt"); got != "" {
			t.Errorf("got %q of what is cached", got)
		}
		time.Sleep(time.Nanosecond)
		if _, err := s.Open([]byte("/f.txt"), compress.Identity, new(Seen)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v of what is gone", err)
		}
		if n, _, _ := s.cache.Stats(); n != 0 {
			t.Errorf("%d entries are kept of what is gone", n)
		}
		s.closeIdle()
	})
}

// While one request loads a file anew, others get what is there. If it takes too long, one
// more tries.
func TestStaleIsServedWhileOneReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const age = 10 * time.Second
		tree := &gatedTree{MapFS: fstest.MapFS{"f.txt": {Data: []byte("old")}}}
		s := NewStore(Settings{FS: tree, MaxAge: age})
		get(t, s, "/f.txt")
		time.Sleep(age)
		tree.MapFS = fstest.MapFS{"f.txt": {Data: []byte("new")}}
		tree.opens = make(chan error)
		got := make(chan string)
		ask := func() { got <- get(t, s, "/f.txt") }
		for _, wait := range []time.Duration{0, reloadTime} {
			time.Sleep(wait)
			go ask()
			synctest.Wait() // it reloads
			for range 3 {
				if data := get(t, s, "/f.txt"); data != "old" {
					t.Fatalf("got %q while it is loaded", data)
				}
			}
		}
		for range 2 {
			tree.opens <- nil
			if data := <-got; data != "new" {
				t.Errorf("got %q, want what was loaded", data)
			}
		}
		if data := get(t, s, "/f.txt"); data != "new" {
			t.Errorf("got %q from the cache", data)
		}
	})
}

// What costs more than a store may keep is served, not kept.
func TestStoreKeepsNoFiles(t *testing.T) {
	s := NewStore(Settings{
		FS:     fstest.MapFS{"big": {Data: make([]byte, smallFile+1)}, "small": {Data: []byte("x")}},
		MaxAge: time.Hour, Recovered: func(string) {},
	})
	s.armed.Store(true) // no timer for the test to wait for
	e := open(t, s, "/big", compress.Identity)
	open(t, s, "/small", compress.Identity).Release()
	if n, _, files := s.cache.Stats(); n != 1 || files != 0 {
		t.Errorf("%d entries with %d files are kept, want the small one", n, files)
	}
	if e.Release(); e.Retain() {
		t.Error("the big file is still open")
	}
}

// The file of an entry without one is opened for each request, and is another one each time.
func TestReopen(t *testing.T) {
	data := strings.Repeat("0123456789", 1000)
	s := NewStore(Settings{FS: plainTree{fstest.MapFS{"d/f.txt": {Data: []byte(data)}}}, Root: "d"})
	e := open(t, s, "/f.txt", compress.Identity)
	if e.Reopen != "f.txt" || e.File != nil || e.Data != nil {
		t.Fatalf("got %+v, want one to reopen", e)
	}
	for range 2 {
		if got := content(t, s, e); got != data {
			t.Errorf("read %d bytes", len(got))
		}
	}
}
