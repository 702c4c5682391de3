package static

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

func shardOf(c *Cache[*thing], path []byte) *cacheShard[*thing] {
	s, _ := c.shard(path)
	return s
}

// Room is made by what is stale first, and where only files are too many, by files alone.
func TestCacheMakesRoom(t *testing.T) {
	// All paths are in one shard, so that its share alone counts.
	oneShard := func(c *Cache[*thing], n int) (paths [][]byte) {
		for i := 0; len(paths) < n; i++ {
			if p := fmt.Appendf(nil, "/%d", i); shardOf(c, p) == &c.shards[0] {
				paths = append(paths, p)
			}
		}
		return paths
	}
	kept := func(c *Cache[*thing], path []byte, now time.Duration) bool {
		_, _, ok := c.Get(path, compress.Identity, now)
		return ok
	}
	for range 20 { // the order of maps is random
		c := NewCache[*thing](time.Second, Limits{Entries: 3 * cacheShards, Bytes: 1 << 20, Files: 100})
		p := oneShard(c, 4)
		c.Put(p[0], compress.Identity, newThing(1, 0), 500*time.Millisecond)
		c.Put(p[1], compress.Identity, newThing(1, 0), 0)
		c.Put(p[2], compress.Identity, newThing(1, 0), 500*time.Millisecond)
		c.Put(p[3], compress.Identity, newThing(1, 0), time.Second)
		if kept(c, p[1], time.Second) || !kept(c, p[0], time.Second) || !kept(c, p[2], time.Second) || !kept(c, p[3], time.Second) {
			t.Fatal("another than the stale entry is dropped")
		}
		c = NewCache[*thing](time.Second, Limits{Entries: 100 * cacheShards, Bytes: 1 << 20, Files: 2 * cacheShards})
		p = oneShard(c, 4)
		for i, e := range []*thing{newThing(1, 1), newThing(1, 0), newThing(1, 1), newThing(1, 1)} {
			c.Put(p[i], compress.Identity, e, 0)
		}
		if n, _, files := c.Stats(); n != 3 || files != 2 || !kept(c, p[1], 0) || !kept(c, p[3], 0) {
			t.Fatalf("%d entries with %d files, want the newest and one without a file among three", n, files)
		}
	}
}

// What is too big takes no room from others, but what it replaces is gone.
func TestCacheRefuses(t *testing.T) {
	closed := newThing(1, 0)
	closed.refs = 0
	for what, e := range map[string]*thing{"bytes": newThing(1025, 0), "files": newThing(1, 3), "closed": closed} {
		c := NewCache[*thing](time.Second, Limits{Entries: 4 * cacheShards, Bytes: 1024 * cacheShards, Files: 2 * cacheShards})
		old, other := newThing(1, 0), newThing(1, 0)
		c.Put([]byte("/x"), compress.Identity, old, 0)
		c.Put([]byte("/x"), compress.Gzip, other, 0)
		refs := e.refs
		c.Put([]byte("/x"), compress.Identity, e, 0)
		if _, _, ok := c.Get([]byte("/x"), compress.Identity, 0); ok || e.refs != refs || old.refs != 1 {
			t.Errorf("%s: kept %v, %d references to it and %d to the old one", what, ok, e.refs, old.refs)
		}
		if other.refs != 2 {
			t.Errorf("%s: what has the same path in another coding is gone", what)
		}
	}
}

// An entry that was closed by others isn't handed out, and one that is dropped lives on for
// those who have it.
func TestCacheReferences(t *testing.T) {
	c := NewCache[*thing](time.Second, Limits{Entries: 100, Bytes: 1 << 20, Files: 100})
	e := newThing(1, 1)
	c.Put([]byte("/x"), compress.Identity, e, 0)
	got, _, _ := c.Get([]byte("/x"), compress.Identity, 0)
	c.Remove([]byte("/x"), compress.Identity)
	c.Remove([]byte("/x"), compress.Identity) // there is none any more
	if got != e || e.refs != 2 {
		t.Errorf("%d references, want those of Put's and Get's callers", e.refs)
	}
	c.Put([]byte("/x"), compress.Identity, e, 0)
	e.refs = 0
	if _, fresh, ok := c.Get([]byte("/x"), compress.Identity, 0); fresh || ok {
		t.Error("a closed entry is handed out")
	}
}

// One caller at a time is told to reload: the next if that takes longer than reloadTime, or
// than the age of entries that live shorter.
func TestCacheReloads(t *testing.T) {
	for age, turn := range map[time.Duration]time.Duration{time.Hour: reloadTime, time.Millisecond: time.Millisecond} {
		c := NewCache[*thing](age, Limits{Entries: 100, Bytes: 1 << 20, Files: 100})
		c.Put([]byte("/x"), compress.Identity, newThing(1, 0), 0)
		for i, tt := range []struct {
			now   time.Duration
			fresh bool
		}{{age - 1, true}, {age, false}, {age, true}, {age + turn - 1, true}, {age + turn, false}, {age + turn, true}} {
			if _, fresh, ok := c.Get([]byte("/x"), compress.Identity, tt.now); fresh != tt.fresh || !ok {
				t.Errorf("age %v, step %d: fresh %v, want %v", age, i, fresh, tt.fresh)
			}
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

// While an entry is replaced and others come and go, readers find one or the other.
func TestCacheReplacesAtOnce(t *testing.T) {
	c := NewCache[*thing](time.Hour, Limits{Entries: 4 * cacheShards, Bytes: 1 << 20, Files: 100})
	path := []byte("/x")
	c.Put(path, compress.Identity, newThing(1, 0), 0)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				e, fresh, ok := c.Get(path, compress.Identity, 0)
				if !ok || !fresh {
					t.Errorf("fresh %v, found %v", fresh, ok)
					return
				}
				e.Release()
			}
		})
	}
	for i := range 2000 {
		c.Put(path, compress.Identity, newThing(1, 0), 0)
		c.Put(path, compress.Gzip, newThing(1, 0), 0)
		if i%3 == 0 {
			c.Remove(path, compress.Gzip)
		}
	}
	close(stop)
	readers.Wait()
}

// Putting entries of one shard doesn't write cache lines that readers of others need.
func TestCacheLayout(t *testing.T) {
	const line = 64
	shard := reflect.TypeFor[cacheShard[*thing]]()
	first, _ := shard.FieldByName("mu")
	last, _ := shard.FieldByName("files")
	lists, _ := shard.FieldByName("lists")
	before := first.Offset
	after := lists.Offset - last.Offset - last.Type.Size()
	between := shard.Size() - lists.Offset - lists.Type.Size() + first.Offset
	if before < line || after < line || between < line {
		t.Errorf("what changes is %d bytes after the cache's fields, %d before its lists and %d after those of the shard before, want %d", before, after, between, line)
	}
}
