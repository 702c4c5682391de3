package static

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

//go:embed doc.go
var embedded embed.FS

// What is cached of trees: what has a time and is two seconds old, and all that can't change.
func TestFreshTrees(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	for what, tt := range map[string]struct {
		was, is fstest.MapFile
		want    string
		cached  bool
	}{
		"changed":           {fstest.MapFile{Data: []byte("one"), ModTime: old}, fstest.MapFile{Data: []byte("two"), ModTime: old.Add(1)}, "two", true},
		"another size":      {fstest.MapFile{Data: []byte("one"), ModTime: old}, fstest.MapFile{Data: []byte("four"), ModTime: old}, "four", true},
		"another mode":      {fstest.MapFile{Data: []byte("one"), ModTime: old}, fstest.MapFile{Data: []byte("two"), ModTime: old, Mode: 0o600}, "two", true},
		"the same":          {fstest.MapFile{Data: []byte("one"), ModTime: old}, fstest.MapFile{Data: []byte("two"), ModTime: old}, "one", true},
		"without a time":    {fstest.MapFile{Data: []byte("one")}, fstest.MapFile{Data: []byte("two")}, "two", false},
		"of the last hour":  {fstest.MapFile{Data: []byte("one"), ModTime: time.Now()}, fstest.MapFile{Data: []byte("two"), ModTime: time.Now()}, "two", false},
		"of another planet": {fstest.MapFile{Data: []byte("one"), ModTime: time.Now().Add(time.Hour)}, fstest.MapFile{Data: []byte("two"), ModTime: time.Now().Add(time.Hour)}, "two", false},
	} {
		tree := fstest.MapFS{"f.txt": &tt.was}
		s := NewStore(Settings{FS: tree, Fresh: true, MaxAge: time.Hour, StrongETags: true, Recovered: func(string) {}})
		open(t, s, "/f.txt", compress.Identity)
		if n, _, _ := s.cache.Stats(); n != 0 != tt.cached {
			t.Errorf("%s: %d entries, want cached %v", what, n, tt.cached)
		}
		tree["f.txt"] = &tt.is
		if got := get(t, s, "/f.txt"); got != tt.want {
			t.Errorf("%s: got %q, want %q", what, got, tt.want)
		}
		delete(tree, "f.txt")
		if _, err := s.Open([]byte("/f.txt"), compress.Identity, new(Seen)); err == nil {
			t.Errorf("%s: it is gone", what)
		}
	}
	s := NewStore(Settings{FS: embedded, Fresh: true, MaxAge: time.Hour, Recovered: func(string) {}})
	get(t, s, "/doc.go")
	if n, _, _ := s.cache.Stats(); n != 1 {
		t.Error("an embedded file isn't cached")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "one")
	for what, tree := range map[string]fs.FS{"DirFS": os.DirFS(dir), "wrapped": struct{ fs.FS }{os.DirFS(dir)}} {
		s := NewStore(Settings{FS: tree, Fresh: true, MaxAge: time.Hour, Recovered: func(string) {}})
		for _, text := range []string{"one", "two", "six"} {
			write(t, filepath.Join(dir, "f"), text)
			if got := get(t, s, "/f"); got != text {
				t.Errorf("%s: got %q, want %q", what, got, text)
			}
		}
		s.closeIdle()
	}
}

// The date of a client counts only if the file can't have changed since.
func TestDates(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) time.Time { return now.Truncate(time.Second).Add(-d) }
	for what, tt := range map[string]struct {
		modified, changed, since time.Time
		want                     Outcome
	}{
		"its date":                         {at(time.Hour), at(time.Hour), at(time.Hour), NotModified},
		"its date, changed in that second": {at(time.Hour), at(time.Hour).Add(900 * time.Millisecond), at(time.Hour), NotModified},
		"its date, changed later":          {at(time.Hour), at(time.Minute), at(time.Hour), NotModified},
		"after its date, before a change":  {at(time.Hour), at(time.Minute), at(time.Hour - time.Second), Proceed},
		"before it":                        {at(time.Hour), at(time.Hour), at(2 * time.Hour), Proceed},
		"after its change":                 {at(time.Hour), at(time.Minute), at(time.Second), NotModified},
		"in the second of its change":      {at(time.Hour), at(time.Minute).Add(1), at(time.Minute), Proceed},
		"in the future":                    {at(time.Hour), at(time.Hour), at(-time.Hour), Proceed},
		"no change known":                  {at(time.Hour), time.Time{}, at(-time.Hour), NotModified},
		"no date":                          {time.Time{}, time.Time{}, at(0), Proceed},
	} {
		v := Validators{ModTime: tt.modified, Changed: tt.changed}
		since := []byte(tt.since.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
		c := Conditions{IfModifiedSince: since, ReadOnly: true}
		if got := c.Evaluate(v); got != tt.want {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
	}
	// A client can't have the date of a young file from its Last-Modified.
	for d, want := range map[time.Duration]Outcome{time.Second: Proceed, 0: NotModified} {
		since := []byte(at(d).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
		v := Validators{ModTime: at(time.Second), Changed: at(time.Second), Young: true}
		if got := (&Conditions{IfModifiedSince: since, ReadOnly: true}).Evaluate(v); got != want {
			t.Errorf("a young file, asked with a date %s ago: %v, want %v", d, got, want)
		}
		if got := (&Conditions{IfUnmodifiedSince: []byte("Mon, 01 Jan 2001 00:00:00 GMT")}).Evaluate(v); got != Failed {
			t.Errorf("a young file that must not have changed since 2001: %v", got)
		}
	}
	// A file that was copied with its time allows a range by that date, if clients have the
	// date from its Last-Modified.
	copied := Validators{ModTime: at(time.Hour), Changed: at(time.Minute)}
	since := []byte(copied.ModTime.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	later := []byte(copied.ModTime.Add(time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	young := copied
	young.Changed, young.Young = at(0), true
	for _, tt := range []struct {
		name string
		date []byte
		v    Validators
		want bool
	}{{"its date", since, copied, true}, {"another date", later, copied, false}, {"a young file", since, young, false}} {
		if got := RangeHolds(tt.date, tt.v, now); got != tt.want {
			t.Errorf("a range of a copied file, by %s: %t", tt.name, got)
		}
		c := Conditions{IfModifiedSince: tt.date, ReadOnly: true}
		if got := c.Evaluate(tt.v); got == NotModified != tt.want {
			t.Errorf("a copied file, by %s: %v", tt.name, got)
		}
		if got := (&Conditions{IfUnmodifiedSince: tt.date}).Evaluate(tt.v); got != Proceed {
			t.Errorf("a copied file that must not have changed, by %s: %v", tt.name, got)
		}
	}
}

// A file system that panics when it is asked whether a file has changed keeps no file open.
func TestFreshPanic(t *testing.T) {
	tree := &panickingTree{gatedTree: &gatedTree{MapFS: fstest.MapFS{"big": {Data: make([]byte, 2*smallFile), ModTime: time.Now().Add(-time.Hour)}}}}
	s := NewStore(Settings{FS: tree, Fresh: true, MaxAge: time.Hour, MaxOpenFiles: 100, Recovered: func(string) {}})
	open(t, s, "/big", compress.Identity).Release()
	tree.panics = true
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		s.Open([]byte("/big"), compress.Identity, new(Seen))
	}()
	if s.cache.Clear(); tree.open.Load() != 0 {
		t.Errorf("%d files are open", tree.open.Load())
	}
}

type panickingTree struct {
	*gatedTree
	panics bool
}

func (p *panickingTree) Stat(name string) (fs.FileInfo, error) {
	if p.panics {
		panic("asked")
	}
	return p.MapFS.Stat(name)
}
