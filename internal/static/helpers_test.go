package static

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeAt is write for a file that was last changed at the time given.
func writeAt(t *testing.T, name, data string, at time.Time) {
	t.Helper()
	write(t, name, data)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func mustStat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// readFrom returns the content of a file, or "" if it can't be opened.
func readFrom(t *testing.T, src fileSource, name string) string {
	t.Helper()
	f, _, err := src.open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// dirNames returns what is in a directory of the system.
func dirNames(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// open returns the entry for path, whose reference is the test's.
func open(t *testing.T, s *Store, path string, coding compress.Coding) *Entry {
	t.Helper()
	e, err := s.Open([]byte(path), coding, new(Seen))
	if err != nil {
		t.Fatalf("%s in %v: %v", path, coding, err)
	}
	return e
}

// content reads all of an entry, wherever it is.
func content(t *testing.T, s *Store, e *Entry) string {
	t.Helper()
	b := e.Data
	var err error
	if e.File != nil {
		b, err = io.ReadAll(io.NewSectionReader(e.File, 0, e.Size))
	}
	if e.Reopen != "" {
		f, _, openErr := s.Reopen(e)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer f.Close()
		b, err = io.ReadAll(f)
	}
	if err != nil || int64(len(b)) != e.Size {
		t.Errorf("read %d bytes of %d, %v", len(b), e.Size, err)
	}
	return string(b)
}

// get opens path, reads all of it and lets it go.
func get(t *testing.T, s *Store, path string) string {
	t.Helper()
	e := open(t, s, path, compress.Identity)
	defer e.Release()
	return content(t, s, e)
}

// plainTree hides what the files of a tree can do besides Read.
type plainTree struct{ fs.FS }

func (p plainTree) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// errPanic makes a gatedTree panic with it.
var errPanic = errors.New("panic")

// A gatedTree is a tree whose Open, or whose files' ReadAt, wait for what a test sends:
// the error to return, if it isn't nil. It counts the files that are open.
type gatedTree struct {
	fstest.MapFS
	opens, reads chan error // nil: don't wait
	open         atomic.Int32
}

func (g *gatedTree) Open(name string) (fs.File, error) {
	if g.opens != nil {
		if err := <-g.opens; err != nil {
			return nil, err
		}
	}
	f, err := g.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	g.open.Add(1)
	return gatedFile{f, f.(io.ReaderAt), g}, nil
}

type gatedFile struct {
	fs.File
	r    io.ReaderAt
	tree *gatedTree
}

func (f gatedFile) Close() error {
	f.tree.open.Add(-1)
	return f.File.Close()
}

func (f gatedFile) ReadAt(p []byte, off int64) (int, error) {
	if f.tree.reads != nil {
		if err := <-f.tree.reads; err == errPanic {
			panic(err)
		} else if err != nil {
			return 0, err
		}
	}
	return f.r.ReadAt(p, off)
}

var prose = strings.Repeat("the quick brown fox jumps over the lazy dog. ", 100)
