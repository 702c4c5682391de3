package static

import (
	"io"
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

// A store that isn't used keeps neither files, nor its root, nor a timer.
func TestStoreLetsGo(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "big"), []byte(strings.Repeat("0123456789", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		const age = 10 * time.Second
		stop := make(chan struct{})
		s := NewStore(Settings{Root: root, MaxAge: age, MaxOpenFiles: 16, Stop: stop, Recovered: func(string) {}})
		want := func(what string, entries, files int) {
			t.Helper()
			e, err := s.Open([]byte("/big"), compress.Identity, new(Seen))
			if err != nil || e.File == nil || e.Size != 100_000 {
				t.Fatalf("%s: %+v, %v, want an open file", what, e, err)
			}
			e.Release()
			if n, _, f := s.cache.Stats(); n != entries || f != files {
				t.Errorf("%s: %d entries and %d open files are kept, want %d and %d", what, n, f, entries, files)
			}
		}
		want("first", 1, 1)
		time.Sleep(4 * age)
		synctest.Wait()
		if n, _, _ := s.cache.Stats(); n != 0 || s.armed.Load() || s.src.(*rootDir).root != nil {
			t.Errorf("%d entries, armed %v, root %v after a long rest", n, s.armed.Load(), s.src.(*rootDir).root)
		}
		want("again", 1, 1)
		close(stop)
		time.Sleep(age + 1)
		synctest.Wait()
		if n, _, _ := s.cache.Stats(); n != 0 {
			t.Errorf("%d entries are kept after Stop", n)
		}
		want("stopped", 0, 0)
	})
}

// A timer that closes files survives the panic of a user's Close.
func TestStoreSurvivesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const age = 10 * time.Second
		panics := 0
		s := NewStore(Settings{FS: badFS{fstest.MapFS{"big": {Data: make([]byte, 100_000)}}}, MaxAge: age, MaxOpenFiles: 16, Recovered: func(where string) {
			if recover() != nil {
				panics++
			}
		}})
		e, err := s.Open([]byte("/big"), compress.Identity, new(Seen))
		if err != nil || e.File == nil {
			t.Fatalf("%+v, %v, want an open file", e, err)
		}
		e.Release()
		time.Sleep(4 * age)
		synctest.Wait()
		if n, _, _ := s.cache.Stats(); n != 0 || panics != 1 {
			t.Errorf("%d entries are kept, %d panics were recovered, want none and one", n, panics)
		}
	})
}

// badFS has files that panic when they are closed.
type badFS struct{ fs.FS }

func (b badFS) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return badFile{f, f.(io.ReaderAt)}, nil
}

type badFile struct {
	fs.File
	io.ReaderAt
}

func (badFile) Close() error { panic("closed") }
