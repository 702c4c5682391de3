package static

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// thing is an entry that counts its references.
type thing struct {
	mu    sync.Mutex
	refs  int
	bytes int64
	files int
}

func newThing(bytes int64, files int) *thing { return &thing{refs: 1, bytes: bytes, files: files} }

func (e *thing) Cost() (int64, int) { return e.bytes, e.files }

func (e *thing) Retain() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refs == 0 {
		return false
	}
	e.refs++
	return true
}

func (e *thing) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refs--; e.refs < 0 {
		panic("released too often")
	}
}

func TestCacheLifetime(t *testing.T) {
	c := NewCache[*thing](10*time.Second, Limits{Entries: 100, Bytes: 1 << 20, Files: 100})
	path := []byte("/a")
	e := newThing(10, 1)
	c.Put(path, compress.Identity, e, 0)
	if e.refs != 2 {
		t.Fatalf("%d references after Put, want the cache's and ours", e.refs)
	}
	if _, _, ok := c.Get(path, compress.Gzip, 0); ok {
		t.Error("codings are told apart")
	}
	if _, fresh, ok := c.Get(path, compress.Identity, 9*time.Second); !fresh || !ok {
		t.Error("fresh before its age")
	}
	if _, fresh, ok := c.Get(path, compress.Identity, 10*time.Second); fresh || !ok {
		t.Error("the first one after its age is told to reload")
	}
	if _, fresh, ok := c.Get(path, compress.Identity, 10*time.Second); !fresh || !ok {
		t.Error("others are served meanwhile")
	}
	if left := c.Sweep(15 * time.Second); left != 1 {
		t.Error("swept too early")
	}
	if left := c.Sweep(time.Minute); left != 0 {
		t.Error("not swept")
	}
	if e.refs != 1+3 {
		t.Errorf("%d references, want ours and those of three Gets", e.refs)
	}
}

func TestCacheReplace(t *testing.T) {
	c := NewCache[*thing](time.Second, Limits{Entries: 100, Bytes: 1 << 20, Files: 100})
	a, b := newThing(1, 1), newThing(2, 0)
	c.Put([]byte("/x"), compress.Identity, a, 0)
	c.Put([]byte("/x"), compress.Identity, b, 0)
	if a.refs != 1 || b.refs != 2 {
		t.Errorf("references %d and %d, want 1 and 2", a.refs, b.refs)
	}
	if n, bytes, files := c.Stats(); n != 1 || bytes != 2 || files != 0 {
		t.Errorf("got %d entries, %d bytes, %d files", n, bytes, files)
	}
}

func TestCacheLimits(t *testing.T) {
	l := Limits{Entries: 64, Bytes: 16 << 10, Files: 32}
	c := NewCache[*thing](time.Second, l)
	var all []*thing
	for i := range 1000 {
		e := newThing(int64(i%300), i%2)
		all = append(all, e)
		c.Put(fmt.Appendf(nil, "/%d", i), compress.Coding(i%compress.Codings), e, time.Duration(i)*time.Millisecond)
		if n, bytes, files := c.Stats(); n > l.Entries || bytes > l.Bytes || files > l.Files {
			t.Fatalf("after %d: %d entries, %d bytes, %d files", i, n, bytes, files)
		}
	}
	if n, _, _ := c.Stats(); n == 0 {
		t.Error("nothing is kept")
	}
	c.Put([]byte("/big"), compress.Identity, newThing(1<<20, 0), 0)
	c.CloseFiles()
	if _, _, files := c.Stats(); files != 0 {
		t.Errorf("%d files open", files)
	}
	c.Clear()
	for i, e := range all {
		if e.refs != 1 {
			t.Fatalf("thing %d has %d references", i, e.refs)
		}
	}
}

func TestFileSharing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	osf, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFile(osf)
	var wg sync.WaitGroup
	for i := range 8 {
		if !f.Acquire() {
			t.Fatal("the file is open")
		}
		wg.Go(func() {
			defer f.Release()
			var b [1]byte
			for range 100 {
				if _, err := f.ReadAt(b[:], int64(i)); err != nil || b[0] != byte('0'+i) {
					t.Errorf("at %d: %q, %v", i, b, err)
				}
			}
		})
	}
	if err := f.Release(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if f.Acquire() {
		t.Error("acquired after the last release")
	}
	if err := f.Release(); err != ErrReleased {
		t.Errorf("got %v", err)
	}
	if _, err := osf.Stat(); err == nil {
		t.Error("the descriptor is still open")
	}
}
