//go:build unix

package static

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// An open file stays what it is when its name goes away or stands for another; when it is
// cut, the bytes that are gone are missed and not made up.
func TestOpenFileChanges(t *testing.T) {
	data := strings.Repeat("0123456789", 10_000)
	for what, tt := range map[string]struct {
		change func(name string) error
		held   string // what is left of the file for who has it open
		next   string // what is there for the next one
	}{
		"removed": {os.Remove, data, ""},
		"replaced": {func(name string) error {
			return errors.Join(os.WriteFile(name+".new", []byte("new"), 0o600), os.Rename(name+".new", name))
		}, data, "new"},
		"cut":       {func(name string) error { return os.Truncate(name, 50_000) }, data[:50_000], data[:50_000]},
		"extended":  {func(name string) error { return os.Truncate(name, 200_000) }, data, data + string(make([]byte, 100_000))},
		"forbidden": {func(name string) error { return os.Chmod(name, 0) }, data, data},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "f"), data)
		s := NewStore(Settings{Root: dir, Recovered: func(string) {}})
		e := open(t, s, "/f", compress.Identity)
		if err := tt.change(filepath.Join(dir, "f")); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(e.File, 0, e.Size))
		if string(got) != tt.held || err != nil || e.Size != int64(len(data)) {
			t.Errorf("%s: read %d bytes of %d, %v, want %d", what, len(got), e.Size, err, len(tt.held))
		}
		e.Release()
		next, err := s.Open([]byte("/f"), compress.Identity, new(Seen))
		switch {
		case what == "forbidden" && errors.Is(err, fs.ErrPermission): // unless we are root
		case err != nil && (tt.next != "" || !errors.Is(err, fs.ErrNotExist)):
			t.Errorf("%s: then %v", what, err)
		case err == nil:
			if got := content(t, s, next); got != tt.next {
				t.Errorf("%s: then %d bytes, want %d", what, len(got), len(tt.next))
			}
			next.Release()
		}
		s.closeIdle()
	}
}

// scarceTree lets few files be open at a time, and the one called never not at all.
type scarceTree struct {
	fstest.MapFS
	left  int
	never string
}

func (s *scarceTree) Open(name string) (fs.File, error) {
	if s.left == 0 || name == s.never {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	f, err := s.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	s.left--
	r, _ := f.(io.ReaderAt) // directories have none
	return scarceFile{f, r, s}, nil
}

type scarceFile struct {
	fs.File
	io.ReaderAt
	tree *scarceTree
}

func (f scarceFile) Close() error { f.tree.left++; return f.File.Close() }

// When the process has no descriptors left, the cache gives back those it holds. If that
// doesn't help, the error says what it was, also where an index page would have been next.
func TestTooManyFiles(t *testing.T) {
	big := &fstest.MapFile{Data: make([]byte, smallFile+1)}
	tree := &scarceTree{fstest.MapFS{"a": big, "b": big, "c": big, "d/x.html": {Data: []byte("x")}, "d/y.html": {Data: []byte("y")}}, 2, ""}
	s := NewStore(Settings{
		FS: tree, MaxAge: time.Hour, MaxOpenFiles: 100, IndexNames: []string{"x.html", "y.html"}, Listings: true, Recovered: func(string) {},
	})
	s.armed.Store(true) // no timer for the test to wait for
	a := open(t, s, "/a", compress.Identity)
	open(t, s, "/b", compress.Identity).Release()
	c := open(t, s, "/c", compress.Identity) // b is closed for it, a is in use
	if _, _, files := s.cache.Stats(); files != 1 || tree.left != 0 {
		t.Errorf("%d files are kept, %d can be opened, want the new one alone", files, tree.left)
	}
	s.cache.Clear()
	if _, err := s.Open([]byte("/b"), compress.Identity, new(Seen)); !IsTooManyFiles(err) {
		t.Errorf("got %v, want that there are too many files", err)
	}
	a.Release()
	c.Release()
	tree.never = "d/x.html"
	if _, err := s.Open([]byte("/d/"), compress.Identity, new(Seen)); !IsTooManyFiles(err) || tree.left != 2 {
		t.Errorf("got %v with %d files to open, want that there are too many for the first page", err, tree.left)
	}
	tree.never, tree.left = "", 1 // for the directory, then for its page
	if got := get(t, s, "/d/"); got != "x" {
		t.Errorf("got %q", got)
	}
}

// A copy isn't made where a link leads out, nor is what is there served.
func TestNoCopyThroughLink(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	writeAt(t, filepath.Join(root, "f.txt"), prose, stamp)
	writeAt(t, filepath.Join(base, "outside"), "outside", stamp)
	if err := os.Symlink("../outside", filepath.Join(root, "f.txt.packed")); err != nil {
		t.Fatal(err)
	}
	settings := gzipping()
	settings.Root = root
	s := NewStore(settings)
	defer s.closeIdle()
	if e := open(t, s, "/f.txt", compress.Gzip); !e.Absent || e.NeverCoded {
		t.Errorf("got %q", e.Data)
	}
	if b, err := os.ReadFile(filepath.Join(base, "outside")); string(b) != "outside" || err != nil {
		t.Errorf("outside there is %.20q, %v", b, err)
	}
}

// Copies in an open directory are only there. What takes the place of its name is neither
// served nor written to.
func TestCopiesStayInOpenRoot(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		for what, replace := range map[string]func(name, other string) error{
			"nothing":      func(string, string) error { return nil },
			"a directory":  func(name, other string) error { return os.Rename(other, name) },
			"a link to it": func(name, other string) error { return os.Symlink(other, name) },
		} {
			dir := t.TempDir()
			at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
			writeAt(t, at("root", "d", "a.txt"), prose, stamp)
			writeAt(t, at("root", "b.txt"), prose, stamp)
			settle(t, at("root", "d", "a.txt"))
			settle(t, at("root", "b.txt"))
			if err := os.Mkdir(at("copies"), 0o700); err != nil {
				t.Fatal(err)
			}
			copies, err := os.OpenRoot(at("copies"))
			if err != nil {
				t.Fatal(err)
			}
			settings := gzipping()
			settings.Root, settings.Fresh, settings.CopyRoot, settings.CopyLimit.Bytes = at("root"), fresh, copies, 1<<20
			suffix := ".packed"
			if fresh {
				suffix += freshSuffix
			}
			ask := func(path string) {
				t.Helper()
				s := NewStore(settings)
				defer s.closeIdle()
				e := open(t, s, path, compress.Gzip)
				defer e.Release()
				if e.Absent || unpacked(t, content(t, s, e)) != prose {
					t.Errorf("%s, fresh %v: %s isn't the file", what, fresh, path)
				}
			}
			ask("/d/a.txt")
			if names := dirNames(t, at("copies", "d")); !slices.Equal(names, []string{"a.txt" + suffix}) {
				t.Errorf("%s, fresh %v: there are %q", what, fresh, names)
			}
			forged := compress.Append(nil, []byte("forged"), compress.Gzip, compress.DefaultLevel)
			if fresh {
				forged = appendTrailer(forged, statID(at("root", "d", "a.txt")+"\x00"))
			}
			writeAt(t, at("other", "d", "a.txt"+suffix), string(forged), stamp)
			if err := errors.Join(os.RemoveAll(at("copies")), replace(at("copies"), at("other"))); err != nil {
				t.Fatal(err)
			}
			ask("/d/a.txt")
			ask("/b.txt")
			for _, name := range []string{"copies", "other"} {
				if names, err := os.ReadDir(at(name)); err == nil && len(names) != 1 || name == "copies" && what == "nothing" && err == nil {
					t.Errorf("%s, fresh %v: in %s there are %v", what, fresh, name, names)
				}
			}
			if b, err := copies.ReadFile("b.txt" + suffix); err == nil {
				t.Errorf("%s, fresh %v: %d bytes were written", what, fresh, len(b))
			}
			copies.Close()
			closed := NewStore(settings)
			if e := open(t, closed, "/b.txt", compress.Gzip); !e.Absent || e.NeverCoded {
				t.Errorf("%s, fresh %v: there is a variant after the copies were closed", what, fresh)
			}
			closed.closeIdle()
		}
	}
}
