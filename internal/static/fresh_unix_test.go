//go:build unix

package static

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/tests/harness/await"
)

// freshStore returns a store with Settings.Fresh for the files in dir.
func freshStore(dir string, change func(*Settings)) *Store {
	settings := Settings{Root: dir, Fresh: true, MaxAge: time.Hour, MaxOpenFiles: 100, StrongETags: true, Recovered: func(string) {}}
	settings.Suffixes = [...]string{compress.Gzip: ".c.gz", compress.Brotli: ".c.br", compress.Zstd: ".c.zst"}
	if change != nil {
		change(&settings)
	}
	return NewStore(settings)
}

// settle waits until a change of the file would change its fileID.
func settle(t *testing.T, path string) {
	t.Helper()
	await.Until(t, "the file to be settled", func() bool {
		at := time.Now()
		id := statID(path + "\x00")
		return !id.exists || id.settled(at)
	})
}

// cached reports whether the next Open of path would be answered from the cache, as far as
// is known without a look at the files.
func cached(s *Store, path string, coding compress.Coding) bool {
	e, _, ok := s.cache.Get([]byte(path), coding, s.now())
	if ok {
		e.Release()
	}
	return ok
}

// A file is cached once it is settled, and read again when it has changed in any way.
func TestFreshFile(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "f.txt"), filepath.Join(dir, "other")
	s := freshStore(dir, nil)
	big := strings.Repeat("0123456789", 2000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, content string) {
		t.Helper()
		for range 3 {
			e, err := s.Open([]byte("/f.txt"), compress.Identity, new(Seen))
			if err != nil && content == "" {
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got := string(e.Data)
			if e.File != nil {
				b := make([]byte, e.Size)
				n, _ := e.File.ReadAt(b, 0)
				got = string(b[:n])
			}
			e.Release()
			if got != content {
				t.Fatalf("%s: got %.10q, want %.10q", what, got, content)
			}
			if content != "" && len(content) < 100 {
				settle(t, name)
			}
		}
	}
	for _, step := range []struct {
		what    string
		change  func()
		content string
	}{
		{"created", func() { write(t, name, "one") }, "one"},
		{"changed, same size", func() { write(t, name, "two") }, "two"},
		{"changed, same size and time", func() { writeAt(t, name, "six", mustStat(t, name).ModTime()) }, "six"},
		{"replaced", func() { write(t, other, "ten"); must(os.Rename(other, name)) }, "ten"},
		{"replaced by a large one", func() { write(t, other, big); must(os.Rename(other, name)) }, big},
		{"truncated", func() { must(os.Truncate(name, 15_000)) }, big[:15_000]},
		{"removed", func() { must(os.Remove(name)) }, ""},
		{"a directory", func() { must(os.Mkdir(name, 0o700)) }, ""},
		{"a file again", func() { must(os.Remove(name)); write(t, name, "new") }, "new"},
	} {
		step.change()
		want(step.what, step.content)
	}
	if settle(t, name); !cached(s, "/f.txt", compress.Identity) {
		want("settled", "new")
		if !cached(s, "/f.txt", compress.Identity) {
			t.Error("a settled file isn't cached")
		}
	}
}

// Only a fileID that every change would change is trusted.
func TestSettled(t *testing.T) {
	at := time.Unix(1_700_000_000, 500e6)
	ago := func(d time.Duration) int64 { return at.Add(-d).UnixNano() }
	for what, tt := range map[string]struct {
		id   fileID
		want bool
	}{
		"just now":                {fileID{ctime: ago(0), mtime: ago(time.Hour)}, false},
		"a tick ago":              {fileID{ctime: ago(19 * time.Millisecond)}, false},
		"two ticks ago":           {fileID{ctime: ago(20 * time.Millisecond)}, true},
		"in the future":           {fileID{ctime: ago(-time.Hour)}, false},
		"whole seconds, just now": {fileID{ctime: ago(500 * time.Millisecond)}, false},
		"whole seconds":           {fileID{ctime: ago(2500 * time.Millisecond)}, true},
		"no ctime, a second ago":  {fileID{mtime: ago(1100 * time.Millisecond)}, false},
		"no ctime":                {fileID{mtime: ago(2100 * time.Millisecond)}, true},
		"nothing":                 {fileID{exists: true}, false},
	} {
		if got := tt.id.settled(at); got != tt.want {
			t.Errorf("%s: settled %v, want %v", what, got, tt.want)
		}
	}
}

// Of several index pages the first one counts, whichever there was before.
func TestFreshIndex(t *testing.T) {
	dir := t.TempDir()
	s := freshStore(dir, func(s *Settings) { s.IndexNames, s.Listings = []string{"a.html", "b.html"}, true })
	a, b := filepath.Join(dir, "d", "a.html"), filepath.Join(dir, "d", "b.html")
	write(t, b, "b")
	for range 3 {
		for _, step := range []struct {
			change func()
			want   string
		}{
			{func() {}, "b"},
			{func() { write(t, a, "a") }, "a"},
			{func() { os.Remove(a) }, "b"},
			{func() { os.Mkdir(a, 0o700) }, "b"},
			{func() { os.Remove(a); write(t, a, "A") }, "A"},
			{func() { os.Remove(b) }, "A"},
			{func() { os.Remove(a) }, "listing"},
			{func() { write(t, filepath.Join(dir, "d", "new"), "x") }, "new"},
			{func() { os.Remove(filepath.Join(dir, "d", "new")); write(t, b, "b") }, "b"},
		} {
			step.change()
			settle(t, a)
			settle(t, b)
			for range 2 {
				got := get(t, s, "/d/")
				if step.want == "listing" && strings.Contains(got, "Nothing here") || step.want == "new" && strings.Contains(got, "new</a>") {
					continue
				}
				if got != step.want {
					t.Fatalf("got %.200q, want %q", got, step.want)
				}
			}
		}
	}
	if !cached(s, "/d/", compress.Identity) {
		t.Error("a settled index page isn't cached")
	}
}

// A root that is replaced is seen by the next request, also by one for a file that wasn't
// there.
func TestFreshRoot(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	s := freshStore(root, nil)
	for range 5 {
		write(t, filepath.Join(root, "f"), "one")
		settle(t, filepath.Join(root, "f"))
		for range 2 {
			if got := get(t, s, "/f"); got != "one" {
				t.Fatalf("got %q", got)
			}
		}
		if _, err := s.Open([]byte("/g"), compress.Identity, new(Seen)); err == nil {
			t.Fatal("there is no such file")
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open([]byte("/f"), compress.Identity, new(Seen)); err == nil {
			t.Fatal("the root was removed")
		}
		write(t, filepath.Join(root, "g"), "two")
		if got := get(t, s, "/g"); got != "two" {
			t.Fatalf("got %q", got)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
	s.closeIdle()
}

// A variant of another program appears, changes, gets older than its file and goes away.
func TestFreshSibling(t *testing.T) {
	dir := t.TempDir()
	name, sibling := filepath.Join(dir, "f.txt"), filepath.Join(dir, "f.txt.br")
	for _, compressing := range []bool{false, true} {
		s := freshStore(dir, func(s *Settings) {
			s.Codings, s.Precompressed, s.CompressRoot = Of(compress.Brotli), true, filepath.Join(t.TempDir(), "copies")
			if compressing {
				s.Compress = s.Codings
			}
		})
		plain := noise(4000)
		write(t, name, plain)
		tags := map[string]string{} // the content that has it
		for _, step := range []struct {
			what   string
			change func()
			want   string // "": the store's own, or none
		}{
			{"none", func() {}, ""},
			{"appears", func() { write(t, sibling, "one") }, "one"},
			{"changes", func() { write(t, sibling, "two") }, "two"},
			{"with the same time", func() { writeAt(t, sibling, "six", mustStat(t, sibling).ModTime()) }, "six"},
			{"is too old", func() { writeAt(t, sibling, "old", mustStat(t, name).ModTime().Add(-time.Hour)) }, ""},
			{"is new again", func() { os.Chtimes(sibling, time.Now(), time.Now()) }, "old"},
			{"the file is newer", func() { os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)) }, ""},
			{"the file is older", func() { os.Chtimes(name, time.Now(), time.Now().Add(-time.Hour)) }, "old"},
			{"is a directory", func() { os.Remove(sibling); os.Mkdir(sibling, 0o700) }, ""},
			{"is a file", func() { os.Remove(sibling); write(t, sibling, "new") }, "new"},
			{"is removed", func() { os.Remove(sibling) }, ""},
		} {
			step.change()
			for i := range 3 {
				e := open(t, s, "/f.txt", compress.Brotli)
				switch {
				case step.want != "":
					if e.Absent || string(e.Data) != step.want {
						t.Fatalf("%s: got %.20q, absent %v, want %q", step.what, e.Data, e.Absent, step.want)
					}
				case compressing && (e.Absent || e.Size > 3000 || e.Size < 1000), !compressing && !e.Absent:
					t.Fatalf("%s: got %d bytes, absent %v", step.what, e.Size, e.Absent)
				}
				if tag := string(e.Valid.ETag); tag != "" {
					if old, ok := tags[tag]; ok && old != string(e.Data) {
						t.Errorf("%s: the tag %s was that of other content", step.what, tag)
					}
					tags[tag] = string(e.Data)
				} else if i == 2 && !e.Absent {
					t.Errorf("%s: no tag", step.what)
				}
				settle(t, name)
				settle(t, sibling)
			}
			if !cached(s, "/f.txt", compress.Brotli) {
				t.Errorf("%s: not cached", step.what)
			}
		}
	}
}

// A copy is used only for the same content, whatever time stamps and sizes
// say, also by another process.
func TestFreshCopies(t *testing.T) {
	for what, copies := range map[string]string{"beside": "", "apart": "copies"} {
		base := t.TempDir()
		root := filepath.Join(base, "root")
		name := filepath.Join(root, "f.txt")
		fresh := func() *Store {
			return freshStore(root, func(s *Settings) {
				s.Codings, s.Compress = Of(compress.Gzip), Of(compress.Gzip)
				if copies != "" {
					s.CompressRoot = filepath.Join(base, copies)
				}
			})
		}
		s := fresh()
		texts := [...]string{noise(40_000), strings.ToUpper(noise(40_000))}
		tags := map[string]bool{}
		for i := range 6 {
			text := texts[i%2]
			writeAt(t, name, text, stamp)
			for j := range 4 {
				if j == 3 {
					s = fresh()
				}
				e := open(t, s, "/f.txt", compress.Gzip)
				if e.Absent {
					t.Fatalf("%s: absent", what)
				}
				if got := unpacked(t, content(t, s, e)); got != text {
					t.Fatalf("%s, change %d, request %d: got %.20q, want %.20q", what, i, j, got, text)
				}
				if j == 3 {
					if e.File == nil {
						t.Errorf("%s: the copy wasn't written", what)
					}
					if tag := string(e.Valid.ETag); tags[tag] || tag == "" {
						t.Errorf("%s: tag %q", what, tag)
					} else {
						tags[tag] = true
					}
				}
				e.Release()
				settle(t, name)
			}
		}
		got := dirNames(t, root)
		if copies != "" {
			got = append(got, dirNames(t, filepath.Join(base, copies))...)
		}
		if want := []string{"f.txt", "f.txt.c.gz.fresh"}; !slices.Equal(got, want) {
			t.Errorf("%s: there are %q, want %q", what, got, want)
		}
		s.closeIdle()
	}
}

// No request gets a listing that was begun before it. However many wait, the next one is for
// all of them.
func TestFreshListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := &slowDirs{MapFS: fstest.MapFS{"a.txt": {}}, reads: make(chan struct{})}
		s := NewStore(Settings{FS: tree, Fresh: true, MaxAge: time.Hour, Listings: true, Recovered: func(string) {}})
		var mu sync.Mutex
		newer, older := 0, 0
		ask := func() {
			e, err := s.Open([]byte("/"), compress.Identity, new(Seen))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(string(e.Data), "b.txt") {
				newer++
			} else {
				older++
			}
		}
		go ask()
		synctest.Wait() // it has opened the directory and reads it
		tree.add("b.txt")
		const others = 3
		for range others {
			go ask()
		}
		synctest.Wait()
		tree.reads <- struct{}{} // of the first one
		synctest.Wait()
		if older != 1 || newer != 0 {
			t.Errorf("%d got the old listing and %d the new one, want 1 and 0", older, newer)
		}
		tree.reads <- struct{}{} // the others share one
		synctest.Wait()
		if older != 1 || newer != others {
			t.Errorf("%d got the old listing and %d the new one, want 1 and %d", older, newer, others)
		}
	})
}

// slowDirs is a tree whose directories are as they were opened, and are read when the test
// allows it.
type slowDirs struct {
	mu sync.Mutex
	fstest.MapFS
	reads chan struct{}
}

func (d *slowDirs) add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := maps.Clone(d.MapFS)
	files[name] = &fstest.MapFile{}
	d.MapFS = files
}

func (d *slowDirs) Open(name string) (fs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.MapFS.Open(name)
	if dir, ok := f.(fs.ReadDirFile); ok {
		return slowDir{dir, d}, err
	}
	return f, err
}

func (d *slowDirs) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.MapFS.Stat(name)
}

type slowDir struct {
	fs.ReadDirFile
	tree *slowDirs
}

func (d slowDir) ReadDir(n int) ([]fs.DirEntry, error) {
	list, err := d.ReadDirFile.ReadDir(n)
	if err == nil {
		<-d.tree.reads
	}
	return list, err
}

// What leads to a file counts too: links that lead elsewhere, also out of the root, and
// permissions.
func TestFreshLinks(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	for _, name := range []string{"root/a/f", "root/b/f", "out/f"} {
		writeAt(t, filepath.Join(base, name), name, stamp)
	}
	link := filepath.Join(root, "link")
	s := freshStore(root, nil)
	defer s.closeIdle()
	// All files have the same time and nearly the same size.
	for range 3 {
		for _, tt := range []struct{ to, want string }{
			{"a", "root/a/f"}, {"b", "root/b/f"}, {"../out", ""}, {filepath.Join(base, "out"), ""}, {"missing", ""}, {"a", "root/a/f"},
		} {
			os.Remove(link)
			if err := os.Symlink(tt.to, link); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				got := ""
				if e, err := s.Open([]byte("/link/f"), compress.Identity, new(Seen)); err == nil {
					got = string(e.Data)
				}
				if got != tt.want {
					t.Fatalf("a link to %s: got %q, want %q", tt.to, got, tt.want)
				}
				settle(t, filepath.Join(link, "f"))
			}
		}
	}
	// A hard link is another name for the same content.
	hard := filepath.Join(root, "hard")
	if err := os.Link(filepath.Join(root, "a", "f"), hard); err != nil {
		t.Fatal(err)
	}
	settle(t, hard)
	get(t, s, "/hard")
	writeAt(t, filepath.Join(root, "a", "f"), "changed!", stamp)
	if got := get(t, s, "/hard"); got != "changed!" {
		t.Errorf("changed by its other name: got %q", got)
	}
	if settle(t, hard); os.Getuid() != 0 {
		get(t, s, "/hard")
		if err := os.Chmod(hard, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open([]byte("/hard"), compress.Identity, new(Seen)); err == nil {
			t.Error("opened without permission")
		}
	}
}

// A file has no validator as long as another change could leave it the same. Clients get its
// date when the file is two seconds old, and the cached entry gets it then.
func TestFreshValidators(t *testing.T) {
	s := freshStore(t.TempDir(), nil)
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	for what, tt := range map[string]struct {
		mtime, ctime int64
		tag          string // its beginning
		date, later  bool
	}{
		"just changed":      {ago(time.Millisecond), ago(time.Millisecond), `"`, false, false},
		"a second ago":      {ago(time.Second), ago(time.Second), `"`, false, true},
		"set back":          {ago(time.Hour), ago(time.Second), `"`, false, true},
		"an hour ago":       {ago(time.Hour), ago(time.Hour), `"`, true, false},
		"the time is ahead": {ago(-time.Hour), ago(time.Hour), `"`, false, false},
	} {
		id := fileID{exists: true, size: 5, mtime: tt.mtime, ctime: tt.ctime}
		l := loading{at: now, origin: id, files: []watch{{"f", id}}}
		e := &Entry{Size: 5}
		s.stamp(e, &l)
		if tag := string(e.Valid.ETag); !strings.HasPrefix(tag, tt.tag) {
			t.Errorf("%s: tag %s", what, tag)
		}
		if got := len(e.LastModified) > 0; got != tt.date || got != (!e.Valid.ModTime.IsZero() && !e.Valid.Young) {
			t.Errorf("%s: date %q", what, e.LastModified)
		}
		if later := e.basis.dated != 0; later != tt.later {
			t.Errorf("%s: gets a date later: %v", what, later)
		} else if wait := e.basis.dated - s.now(); later && (wait <= 0 || wait > dateTime-time.Second) {
			t.Errorf("%s: gets its date in %v", what, wait)
		}
	}
	// The tag of a small file stays when it is settled, and when only its time changes.
	tags := map[string]bool{}
	for _, age := range []time.Duration{0, time.Second, time.Hour} {
		id := fileID{exists: true, size: 4, mtime: ago(age), ctime: ago(age)}
		e := &Entry{Size: 4, Data: []byte("text")}
		s.stamp(e, &loading{at: now, origin: id, files: []watch{{"f", id}}})
		tags[string(e.Valid.ETag)] = true
	}
	if len(tags) != 1 {
		t.Errorf("the same content has the tags %v", tags)
	}
	for _, e := range []*Entry{{Size: 1e5, File: new(File)}, {Size: 1e5, Reopen: "f"}} {
		if s.stamp(e, &loading{at: now, origin: fileID{exists: true, size: 1e5, mtime: now.UnixNano(), ctime: now.UnixNano()}}); len(e.Valid.ETag) > 0 {
			t.Errorf("a large file that has just changed has the tag %s", e.Valid.ETag)
		}
	}
	// An entry that waits for its date is used until then.
	path := filepath.Join(s.root, "f")
	write(t, path, "text")
	id := statID(path + "\x00")
	e := &Entry{basis: basis{files: []watch{{path + "\x00", id}}, settled: true, dated: 100}}
	if !s.holds(e, 99, new(Seen)) || s.holds(e, 100, new(Seen)) {
		t.Error("the date isn't awaited")
	}
}

// A file that changes after it was looked at and before its compressed copy is written has no
// variant: neither its part nor its new content is sent or kept as what it was. Next it is
// compressed as it has become.
func TestFileChangesWhileCompressed(t *testing.T) {
	data := noise(40_000)
	for _, fresh := range []bool{false, true} {
		for what, change := range map[string]func(name string, info fs.FileInfo) error{
			"cut": func(name string, _ fs.FileInfo) error { return os.Truncate(name, 10_000) },
			"extended": func(name string, _ fs.FileInfo) error {
				return os.WriteFile(name, []byte(data+data), 0o600)
			},
			"cut, its time set back": func(name string, info fs.FileInfo) error {
				return errors.Join(os.Truncate(name, 10_000), os.Chtimes(name, info.ModTime(), info.ModTime()))
			},
			"changed, its time set back": func(name string, info fs.FileInfo) error {
				return errors.Join(os.WriteFile(name, []byte(strings.ToUpper(data)), 0o600), os.Chtimes(name, info.ModTime(), info.ModTime()))
			},
		} {
			dir, copies := t.TempDir(), t.TempDir()
			name := filepath.Join(dir, "f.txt")
			writeAt(t, name, data, stamp)
			settle(t, name)
			settings := gzipping()
			settings.Root, settings.CompressRoot, settings.Fresh = dir, copies, fresh
			s := NewStore(settings)
			for range cap(compressing) {
				compressing <- struct{}{}
			}
			got := make(chan *Entry)
			go func() {
				e, err := s.Open([]byte("/f.txt"), compress.Gzip, new(Seen))
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				got <- e
			}()
			await.Until(t, "the file to be looked at", func() bool {
				s.flights.mu.Lock()
				defer s.flights.mu.Unlock()
				return len(s.flights.flying) > 0
			})
			if err := change(name, mustStat(t, name)); err != nil {
				t.Fatal(err)
			}
			for range cap(compressing) {
				<-compressing
			}
			if e := <-got; e == nil || !e.Absent {
				t.Errorf("%s, fresh %v: got a variant", what, fresh)
			}
			if names := dirNames(t, copies); len(names) != 0 {
				t.Errorf("%s, fresh %v: there are %q, want no copy", what, fresh, names)
			}
			is, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				e := open(t, s, "/f.txt", compress.Gzip)
				if e.Absent || unpacked(t, content(t, s, e)) != string(is) {
					t.Errorf("%s, fresh %v: then it isn't the %d bytes that the file has", what, fresh, len(is))
				}
				e.Release()
			}
			s.closeIdle()
		}
	}
}
