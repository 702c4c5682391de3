package static

import (
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// Small files are kept in memory, others open, or by name if they can only be read from
// their start. Each has a type, by its name or else by how it begins.
func TestEntryKinds(t *testing.T) {
	page := "<!DOCTYPE html>"
	tree := fstest.MapFS{
		"zero": {}, "small": {Data: []byte(page)}, "small.txt": {Data: []byte(page)},
		"edge": {Data: []byte(page + strings.Repeat(" ", smallFile-len(page)))},
		"big":  {Data: []byte(page + strings.Repeat(" ", smallFile+1-len(page)))}, "big.js": {Data: make([]byte, smallFile+1)},
	}
	const html, plain, script = "text/html; charset=utf-8", "text/plain; charset=utf-8", "text/javascript; charset=utf-8"
	for name, tt := range map[string]struct {
		small bool
		ctype string
	}{
		"zero": {true, plain}, "small": {true, html}, "small.txt": {true, plain}, "edge": {true, html}, "big": {false, html}, "big.js": {false, script},
	} {
		for _, plainly := range []bool{false, true} {
			settings := Settings{FS: tree, Recovered: func(string) {}}
			if plainly {
				settings.FS = plainTree{tree}
			}
			s := NewStore(settings)
			e := open(t, s, "/"+name, compress.Identity)
			if (e.Data != nil) != tt.small || (e.File != nil) != (!tt.small && !plainly) || (e.Reopen != "") != (!tt.small && plainly) {
				t.Errorf("%s, plainly %v: in memory %v, open %v, by name %q", name, plainly, e.Data != nil, e.File != nil, e.Reopen)
			}
			if e.ContentType != tt.ctype || content(t, s, e) != string(tree[name].Data) {
				t.Errorf("%s, plainly %v: %d bytes of %q", name, plainly, e.Size, e.ContentType)
			}
			bytes, files := e.Cost()
			if want := int64(entryOverhead + len(e.Data)); bytes != want || (files == 1) != (e.File != nil) {
				t.Errorf("%s, plainly %v: costs %d bytes and %d files, want %d bytes", name, plainly, bytes, files, want)
			}
			e.Release()
		}
	}
}

// sizedTree has files that were of another size when they were looked at.
type sizedTree struct {
	fs.FS
	more int64
}

func (s sizedTree) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return sizedFile{f, s.more}, err
}

type sizedFile struct {
	fs.File
	more int64
}

func (f sizedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return sizedInfo{info, f.more}, err
}

type sizedInfo struct {
	fs.FileInfo
	more int64
}

func (i sizedInfo) Size() int64 { return i.FileInfo.Size() + i.more }

// Requests share what is in memory: to append to it makes a copy.
func TestEntryDataIsFull(t *testing.T) {
	settings := gzipping()
	tree := fstest.MapFS{"f.txt": {Data: []byte(prose)}}
	settings.FS, settings.Listings = tree, true
	s := NewStore(settings)
	for what, e := range map[string]*Entry{
		"a file": open(t, s, "/f.txt", compress.Identity), "a listing": open(t, s, "/", compress.Identity), "a variant": open(t, s, "/f.txt", compress.Gzip),
		"a file that got shorter": open(t, NewStore(Settings{FS: sizedTree{tree, 50}}), "/f.txt", compress.Identity),
	} {
		if len(e.Data) == 0 || cap(e.Data) != len(e.Data) {
			t.Errorf("%s: %d bytes have room for %d", what, len(e.Data), cap(e.Data))
		}
	}
}

// A file that is written to while it is read is what was read of it: its length is true.
func TestEntryOfChangingFile(t *testing.T) {
	tree := fstest.MapFS{"f": {Data: []byte("0123456789")}}
	for more, want := range map[int64]string{5: "0123456789", -5: "01234", 0: "0123456789"} {
		s := NewStore(Settings{FS: sizedTree{tree, more}})
		if got := get(t, s, "/f"); got != want {
			t.Errorf("%+d bytes: %q, want %q", more, got, want)
		}
	}
}

// A file that can't be read gives no entry, and is closed.
func TestEntryFails(t *testing.T) {
	for name, size := range map[string]int{"small.txt": 10, "big": smallFile + 1} {
		tree := &closingTree{FS: fstest.MapFS{name: {Data: make([]byte, size)}}}
		s := NewStore(Settings{FS: tree})
		if e, err := s.Open([]byte("/"+name), compress.Identity, new(Seen)); err != fs.ErrPermission || e != nil {
			t.Errorf("%s: %v, %v", name, e, err)
		}
		if tree.open != 0 {
			t.Errorf("%s: %d files are open", name, tree.open)
		}
	}
}

// closingTree has files that can't be read, and counts those that are open.
type closingTree struct {
	fs.FS
	open int
}

func (c *closingTree) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err == nil {
		c.open++
	}
	return unreadable{f, c}, err
}

type unreadable struct {
	fs.File
	tree *closingTree
}

func (unreadable) Read([]byte) (int, error)          { return 0, fs.ErrPermission }
func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, fs.ErrPermission }
func (u unreadable) Close() error                    { u.tree.open--; return u.File.Close() }

var _ io.ReaderAt = unreadable{}

// The validators of a file (RFC 9110 section 8.8): a strong tag needs a time stamp that
// the next change can't have as well, and none has a date that isn't known.
func TestEntryValidators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // of the bubble: a whole second
		for what, tt := range map[string]struct {
			weak, strong bool
			age          time.Duration // of the file; 0: it has no time stamp
			tag          string        // what it begins with
		}{
			"no tags":            {false, false, time.Hour, ""},
			"weak":               {true, false, time.Hour, `W/"`},
			"strong":             {false, true, time.Hour, `"`},
			"strong before weak": {true, true, time.Hour, `"`},
			"just settled":       {false, true, 2*time.Second + 1, `"`},
			"young":              {false, true, 2 * time.Second, `W/"`},
			"from the future":    {false, true, -time.Hour, `W/"`},
			"no time":            {true, true, 0, ""},
		} {
			file := &fstest.MapFile{Data: []byte("data")}
			if tt.age != 0 {
				file.ModTime = now.Add(-tt.age)
			}
			e := open(t, NewStore(Settings{FS: fstest.MapFS{"f": file}, ETags: tt.weak, StrongETags: tt.strong}), "/f", compress.Identity)
			tag, quote := string(e.Valid.ETag), strings.IndexByte(string(e.Valid.ETag), '"')
			if tag[:quote+1] != tt.tag {
				t.Errorf("%s: the tag is %s, want one that begins with %q", what, tag, tt.tag)
			}
			date, ok := ParseDate(e.LastModified)
			if ok != (tt.age != 0) || ok && !date.Equal(file.ModTime.Truncate(time.Second)) || !e.Valid.ModTime.Equal(file.ModTime) {
				t.Errorf("%s: last modified %s, %v, want %v", what, e.LastModified, e.Valid.ModTime, file.ModTime)
			}
		}
	})
}

// A faultyTree has the directory d and else files, of which one method does what fault says. It counts the files
// that are open.
type faultyTree struct {
	method string
	fault  func(p []byte) (int, error)
	at     bool // files can be read at offsets
	size   int64
	open   atomic.Int32
}

func (f *faultyTree) Open(name string) (fs.File, error) {
	if name == "d" {
		return fstest.MapFS{"d/x": {}}.Open(name)
	}
	f.open.Add(1)
	if f.at {
		return faultyFileAt{faultyFile{f}}, nil
	}
	return faultyFile{f}, nil
}

// do does what method does.
func (f *faultyTree) do(method string, p []byte) (int, error) {
	if method == f.method {
		return f.fault(p)
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

type faultyFile struct{ tree *faultyTree }

func (f faultyFile) Stat() (fs.FileInfo, error) {
	if f.tree.method == "no info" {
		return nil, nil
	}
	_, err := f.tree.do("Stat", nil)
	return faultyInfo(f), err
}
func (f faultyFile) Read(p []byte) (int, error) { return f.tree.do("Read", p) }
func (f faultyFile) Close() error               { f.tree.open.Add(-1); return nil }

type faultyFileAt struct{ faultyFile }

func (f faultyFileAt) ReadAt(p []byte, _ int64) (int, error) { return f.tree.do("Read", p) }

type faultyInfo struct{ tree *faultyTree }

func (i faultyInfo) Name() string       { return "f.txt" }
func (i faultyInfo) Size() int64        { i.tree.do("Size", nil); return i.tree.size }
func (i faultyInfo) Mode() fs.FileMode  { i.tree.do("Mode", nil); return 0o644 }
func (i faultyInfo) ModTime() time.Time { i.tree.do("ModTime", nil); return stamp }
func (i faultyInfo) IsDir() bool        { i.tree.do("IsDir", nil); return false }
func (i faultyInfo) Sys() any           { i.tree.do("Sys", nil); return nil }

// Whatever a method of a user's file does, the file is closed, and nothing is kept busy.
func TestFaultyFileIsClosed(t *testing.T) {
	faults := map[string]func(p []byte) (int, error){
		"panics": func([]byte) (int, error) { panic("fault") },
		"exits":  func([]byte) (int, error) { runtime.Goexit(); return 0, nil },
		"fails":  func([]byte) (int, error) { return 0, fs.ErrPermission },
	}
	reads := map[string]func(p []byte) (int, error){
		"returns too much": func(p []byte) (int, error) { return len(p) + 1, nil },
		"returns nothing":  func([]byte) (int, error) { return 0, nil },
		"returns -1":       func([]byte) (int, error) { return -1, nil },
	}
	for _, method := range []string{"Stat", "no info", "Size", "Mode", "ModTime", "IsDir", "Sys", "Read"} {
		for what, fault := range faults {
			testFaultyFile(t, method, what, fault)
		}
	}
	for what, fault := range reads {
		testFaultyFile(t, "Read", what, fault)
	}
}

func testFaultyFile(t *testing.T, method, what string, fault func(p []byte) (int, error)) {
	for _, size := range []int64{1000, smallFile + 1} {
		for _, at := range []bool{false, true} {
			for _, coding := range []compress.Coding{compress.Identity, compress.Gzip} {
				for _, name := range []string{"/f.txt", "/f", "/", "/d/"} {
					for _, fresh := range []bool{false, true} {
						tree := &faultyTree{method: method, fault: fault, at: at, size: size}
						settings := gzipping()
						settings.FS, settings.IndexNames, settings.Fresh, settings.Precompressed = tree, []string{"index.txt"}, fresh, true
						s := NewStore(settings)
						done := make(chan struct{})
						go func() {
							defer close(done)
							defer func() { _ = recover() }()
							if e, err := s.Open([]byte(name), coding, new(Seen)); err == nil {
								e.Release()
							}
						}()
						<-done
						if n := tree.open.Load(); n != 0 || len(compressing) != 0 || len(s.flights.flying) != 0 {
							t.Errorf("%s %s: %s of %d bytes in %v, at offsets %v, fresh %v: %d files are open, %d are compressed", method, what, name, size, coding, at, fresh, n, len(compressing))
						}
					}
				}
			}
		}
	}
}
