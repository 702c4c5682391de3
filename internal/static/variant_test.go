package static

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// gzipping returns the settings of a store that compresses with gzip.
func gzipping() Settings {
	s := Settings{Compress: Of(compress.Gzip), Codings: Of(compress.Gzip), Recovered: func(string) {}}
	s.Suffixes[compress.Gzip] = ".packed"
	return s
}

// unpacked returns what was compressed with gzip.
func unpacked(t *testing.T, data string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// noise returns text of n bytes that gets smaller by about a half only.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{})
	b := make([]byte, n/2)
	r.Read(b)
	return fmt.Sprintf("%x", b)
}

// A copy is made once, of the time of its file, and anew when the file has changed.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	name, packed := filepath.Join(dir, "sub", "f.txt"), filepath.Join(dir, "sub", "f.txt.packed")
	settings := gzipping()
	settings.Root, settings.ETags = dir, true
	writeAt(t, name, prose, stamp)
	ask := func(what, want string) *Entry {
		t.Helper()
		e := open(t, NewStore(settings), "/sub/f.txt", compress.Gzip)
		if e.Absent || e.Coding != compress.Gzip || e.ContentType != "text/plain; charset=utf-8" || !e.Varies {
			t.Fatalf("%s: got %+v", what, e)
		}
		if got := unpacked(t, string(e.Data)); got != want {
			t.Errorf("%s: got %.20q, want %.20q", what, got, want)
		}
		return e
	}
	made := ask("made", prose)
	if got := mustStat(t, packed); !isCopyOf(got.ModTime(), stamp) || got.Size() != made.Size {
		t.Errorf("the copy is of %v and has %d bytes, want %d", got.ModTime(), got.Size(), made.Size)
	}
	plain := open(t, NewStore(settings), "/sub/f.txt", compress.Identity)
	if !made.Valid.ModTime.Equal(stamp.Truncate(time.Second)) && !made.Valid.ModTime.Equal(stamp) || string(made.Valid.ETag) == string(plain.Valid.ETag) {
		t.Errorf("variants of %v and %v with the tags %s and %s", made.Valid.ModTime, plain.Valid.ModTime, made.Valid.ETag, plain.Valid.ETag)
	}
	other := "another text"
	writeAt(t, packed, string(compress.Append(nil, []byte(other), compress.Gzip, compress.DefaultLevel)), stamp)
	ask("found", other)
	for _, lost := range []string{"", strings.Repeat("\x00", len(prose))} {
		writeAt(t, packed, lost, stamp)
		ask("no copy, but of its time", prose)
	}
	writeAt(t, name, strings.ToUpper(prose), stamp.Add(time.Hour))
	ask("changed", strings.ToUpper(prose))
	writeAt(t, name, prose, stamp.Add(-time.Hour)) // such as one that was moved here
	ask("older", prose)
	if got := dirNames(t, filepath.Dir(name)); len(got) != 2 {
		t.Errorf("there are %q, want the file and one copy", got)
	}
}

// What isn't compressed: what is packed already, too small, too big, not worth it, a copy.
func TestNoVariant(t *testing.T) {
	random := make([]byte, 1000)
	rand.NewChaCha8([32]byte{}).Read(random)
	settings := gzipping()
	settings.FS = fstest.MapFS{
		"f.png": {Data: []byte(prose)}, "binary": {Data: append([]byte("\x89PNG\r\n\x1a\n"), prose...)}, "text": {Data: []byte(prose)},
		"small.txt": {Data: []byte(prose[:minCompressed-1])}, "least.txt": {Data: []byte(prose[:minCompressed])},
		"big.txt": {Data: make([]byte, maxCompressed+1)}, "noise.txt": {Data: random},
		"f.txt.packed": {Data: []byte(prose)}, "f.txt": {Data: []byte(prose)},
	}
	for name, want := range map[string]struct{ absent, never bool }{
		"f.png": {true, true}, "binary": {true, true}, "text": {}, "small.txt": {true, false}, "least.txt": {}, "big.txt": {true, false},
		"noise.txt": {true, false}, "f.txt.packed": {true, false}, "f.txt": {},
	} {
		e := open(t, NewStore(settings), "/"+name, compress.Gzip)
		if e.Absent != want.absent || e.NeverCoded != want.never {
			t.Errorf("%s: absent %v, never coded %v, want %v", name, e.Absent, e.NeverCoded, want)
		}
	}
	if e := open(t, NewStore(settings), "/f.txt", compress.Brotli); !e.Absent || e.NeverCoded {
		t.Errorf("a coding that isn't for compressing: %+v", e)
	}
	settings.FS = plainTree{settings.FS}
	if e := open(t, NewStore(settings), "/f.txt", compress.Gzip); !e.Absent || e.NeverCoded {
		t.Errorf("a file that can't be read at offsets: %+v", e)
	}
}

// A file with fewer bytes than it is said to have isn't compressed: only as it is can its
// response show that the rest is missing.
func TestShortFileIsNotCompressed(t *testing.T) {
	for size, absent := range map[int]bool{0: false, 1: true, 100_000: true} {
		settings := gzipping()
		settings.FS = offsetTree{sizedTree{fstest.MapFS{"f.txt": {Data: []byte(prose)}}, int64(size)}}
		s := NewStore(settings)
		for range 2 {
			e := open(t, s, "/f.txt", compress.Gzip)
			if e.Absent != absent || !absent && unpacked(t, string(e.Data)) != prose {
				t.Errorf("%d bytes are missing: got %d bytes, absent %v", size, e.Size, e.Absent)
			}
		}
	}
}

// A file whose time is always that of the call is compressed each time.
func TestTimeOfTheCall(t *testing.T) {
	settings := gzipping()
	settings.FS = nowTree{fstest.MapFS{"f.txt": {Data: []byte(prose)}}}
	s := NewStore(settings)
	for range 2 {
		e := open(t, s, "/f.txt", compress.Gzip)
		if e.Absent || unpacked(t, string(e.Data)) != prose {
			t.Errorf("got %d bytes, absent %v", e.Size, e.Absent)
		}
	}
}

// nowTree is a tree whose files were changed at the time of the call.
type nowTree struct{ fs.FS }

func (n nowTree) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct {
		nowFile
		io.ReaderAt
	}{nowFile{f, new(atomic.Int64)}, f.(io.ReaderAt)}, nil
}

type nowFile struct {
	fs.File
	calls *atomic.Int64
}

func (n nowFile) Stat() (fs.FileInfo, error) {
	info, err := n.File.Stat()
	return nowInfo{info, time.Now().Add(time.Duration(n.calls.Add(1)) * time.Second)}, err
}

type nowInfo struct {
	fs.FileInfo
	at time.Time
}

func (n nowInfo) ModTime() time.Time { return n.at }

// offsetTree is a sizedTree whose files can be read at offsets.
type offsetTree struct{ fs.FS }

func (o offsetTree) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct {
		fs.File
		io.ReaderAt
	}{f, f.(sizedFile).File.(io.ReaderAt)}, nil
}

// Copies are kept in a place of their own, which is made if it isn't there; those of
// another age that lie beside their files from before are removed.
func TestCopiesInTheirOwnPlace(t *testing.T) {
	for _, followOut := range []bool{false, true} {
		dir := t.TempDir()
		root, copies := filepath.Join(dir, "root"), filepath.Join(dir, "new", "copies")
		writeAt(t, filepath.Join(root, "d", "a.txt"), prose, stamp)
		writeAt(t, filepath.Join(root, "d", "a.txt.packed"), "outdated", stamp.Add(-time.Hour))
		writeAt(t, filepath.Join(root, "d", "b.txt"), prose, stamp)
		writeAt(t, filepath.Join(root, "d", "b.txt.packed"), "of its age", stamp)
		settings := gzipping()
		settings.Root, settings.CompressRoot, settings.FollowOut = root, copies, followOut
		s := NewStore(settings)
		for _, path := range []string{"/d/a.txt", "/d/b.txt"} {
			if e := open(t, s, path, compress.Gzip); unpacked(t, string(e.Data)) != prose {
				t.Errorf("%s: %+v", path, e)
			}
		}
		if got, want := dirNames(t, filepath.Join(root, "d")), []string{"a.txt", "b.txt", "b.txt.packed"}; !slices.Equal(got, want) {
			t.Errorf("beside the files there are %q, want %q", got, want)
		}
		if got, want := dirNames(t, filepath.Join(copies, "d")), []string{"a.txt.packed", "b.txt.packed"}; !slices.Equal(got, want) {
			t.Errorf("in their place there are %q, want %q", got, want)
		}
		s.closeIdle()
	}
}

// Where no copy can be written, what would be in it is sent from memory, and nothing is
// left behind.
func TestCopyCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	writeAt(t, filepath.Join(dir, "f.txt"), prose, stamp)
	write(t, filepath.Join(dir, "f.txt.packed", "x"), "a directory has the name of the copy")
	settings := gzipping()
	settings.Root, settings.ETags = dir, true
	s := NewStore(settings)
	e := open(t, s, "/f.txt", compress.Gzip)
	if e.Absent || unpacked(t, string(e.Data)) != prose || e.Size != int64(len(e.Data)) || !e.Varies || len(e.Valid.ETag) == 0 {
		t.Errorf("got %+v", e)
	}
	if got, want := dirNames(t, dir), []string{"f.txt", "f.txt.packed"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	s.closeIdle()
}

// Variants that others have made are sent if they aren't older than the file, whatever its
// size, and before any of our own.
func TestSiblings(t *testing.T) {
	for what, tt := range map[string]struct {
		age  time.Duration // of the sibling
		mode fs.FileMode
		want string
	}{
		"as old":      {0, 0, "sibling"},
		"younger":     {-time.Hour, 0, "sibling"},
		"older":       {time.Second, 0, ""},
		"a directory": {0, fs.ModeDir, ""},
	} {
		at := stamp.Add(-tt.age)
		sibling := &fstest.MapFile{Data: []byte("sibling"), ModTime: at, Mode: tt.mode}
		if tt.mode.IsDir() {
			sibling.Data = nil
		}
		settings := Settings{
			FS: fstest.MapFS{
				"f.txt": {Data: []byte("file"), ModTime: stamp}, "f.txt.gz": sibling,
				"f.png": {Data: []byte("png")}, "f.png.gz": {Data: []byte("not asked for")},
			},
			Codings: Of(compress.Gzip, compress.Brotli), Precompressed: true, StrongETags: true,
		}
		s := NewStore(settings)
		e := open(t, s, "/f.txt", compress.Gzip)
		if e.Absent != (tt.want == "") || !e.Absent && string(e.Data) != tt.want || e.NeverCoded {
			t.Errorf("%s: %+v", what, e)
		}
		if plain := open(t, s, "/f.txt", compress.Identity); !e.Absent && (e.ContentType != plain.ContentType || bytes.Equal(e.Valid.ETag, plain.Valid.ETag) || !e.Valid.ModTime.Equal(at)) {
			t.Errorf("%s: type %q, tag %s, time %v", what, e.ContentType, e.Valid.ETag, e.Valid.ModTime)
		}
		if e := open(t, s, "/f.txt", compress.Brotli); !e.Absent {
			t.Errorf("%s: %q as brotli", what, e.Data)
		}
		if e := open(t, s, "/f.png", compress.Gzip); !e.Absent || !e.NeverCoded {
			t.Errorf("%s: %q of what is packed already", what, e.Data)
		}
	}
}

// A variant that lives in memory, or isn't worth it, is known as long as the file stays
// as it is, and its time of change tells.
func TestVariantIsRemembered(t *testing.T) {
	random := make([]byte, 1000)
	rand.NewChaCha8([32]byte{}).Read(random)
	const age = 10 * time.Second
	for what, tt := range map[string]struct {
		was, is fstest.MapFile
		reads   int // of the file's content
	}{
		"the same":      {fstest.MapFile{Data: []byte(prose), ModTime: stamp}, fstest.MapFile{Data: []byte(prose), ModTime: stamp}, 1},
		"not worth it":  {fstest.MapFile{Data: random, ModTime: stamp}, fstest.MapFile{Data: random, ModTime: stamp}, 1},
		"another time":  {fstest.MapFile{Data: []byte(prose), ModTime: stamp}, fstest.MapFile{Data: []byte(prose), ModTime: stamp.Add(1)}, 2},
		"another size":  {fstest.MapFile{Data: []byte(prose), ModTime: stamp}, fstest.MapFile{Data: []byte(prose + "!"), ModTime: stamp}, 2},
		"unknown times": {fstest.MapFile{Data: []byte(prose)}, fstest.MapFile{Data: []byte(prose)}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			settings := gzipping()
			tree := &gatedTree{MapFS: fstest.MapFS{"f.txt": &tt.was}, reads: make(chan error, 10)}
			settings.FS, settings.MaxAge = tree, age
			for range cap(tree.reads) {
				tree.reads <- nil
			}
			s := NewStore(settings)
			open(t, s, "/f.txt", compress.Gzip)
			tree.MapFS = fstest.MapFS{"f.txt": &tt.is}
			time.Sleep(age)
			e := open(t, s, "/f.txt", compress.Gzip)
			if got := cap(tree.reads) - len(tree.reads); got != tt.reads {
				t.Errorf("%s: the file was read %d times, want %d", what, got, tt.reads)
			}
			if n := tree.open.Load(); n != 0 {
				t.Errorf("%s: %d files are open", what, n)
			}
			if !e.Absent && unpacked(t, string(e.Data)) != string(tt.is.Data) {
				t.Errorf("%s: it is of another file", what)
			}
		})
	}
}

// However many ask for a variant, one compresses and the others wait for it. If that one
// fails, or its file panics, one of the others goes on.
func TestCompressedOnce(t *testing.T) {
	broken := errors.New("broken")
	for what, first := range map[string][]error{"made": nil, "failed": {broken}, "panicked": {errPanic, broken}} {
		synctest.Test(t, func(t *testing.T) {
			const callers = 10
			settings := gzipping()
			tree := &gatedTree{MapFS: fstest.MapFS{"f.txt": {Data: []byte(prose)}}, reads: make(chan error)}
			settings.FS = tree
			s := NewStore(settings)
			var mu sync.Mutex
			entries, errs := map[*Entry]int{}, []error(nil)
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					defer func() {
						if v := recover(); v != nil {
							mu.Lock()
							defer mu.Unlock()
							errs = append(errs, v.(error))
						}
					}()
					e, err := s.Open([]byte("/f.txt"), compress.Gzip, new(Seen))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						errs = append(errs, err)
						return
					}
					entries[e]++
				})
			}
			for _, err := range first {
				synctest.Wait()
				tree.reads <- err
			}
			synctest.Wait()
			tree.reads <- nil // a second reader would wait forever
			wg.Wait()
			if !slices.Equal(errs, first) || len(entries) != 1 {
				t.Errorf("%s: errors %v, want %v; %d entries", what, errs, first, len(entries))
			}
			for e, n := range entries {
				if n != callers-len(first) || unpacked(t, string(e.Data)) != prose {
					t.Errorf("%s: %d got %d bytes", what, n, e.Size)
				}
			}
			if n := tree.open.Load(); len(s.flights.flying) != 0 || len(compressing) != 0 || n != 0 {
				t.Errorf("%s: %d in flight, %d compressing, %d files are open", what, len(s.flights.flying), len(compressing), n)
			}
		})
	}
}

// A copy too big for memory is an open file, and each who asks for it has one of their own
// to let go.
func TestCompressedOnDisk(t *testing.T) {
	settings := gzipping()
	settings.Root = t.TempDir()
	data := noise(10 * smallFile)
	writeAt(t, filepath.Join(settings.Root, "f.txt"), data, stamp)
	s := NewStore(settings)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e, err := s.Open([]byte("/f.txt"), compress.Gzip, new(Seen))
			if err != nil || e.File == nil {
				t.Errorf("got %+v, %v, want an open file", e, err)
				return
			}
			if got := unpacked(t, content(t, s, e)); got != data {
				t.Errorf("got %d bytes of %d", len(got), len(data))
			}
			if e.Release(); e.Retain() {
				t.Error("the file is open after its last user")
			}
		})
	}
	wg.Wait()
	if got := dirNames(t, settings.Root); len(got) != 2 {
		t.Errorf("there are %q, want the file and its copy", got)
	}
	s.closeIdle()
	if err := os.RemoveAll(settings.Root); err != nil {
		t.Error(err)
	}
}

// A variant of another program that is removed isn't kept in memory for the store's own.
func TestSiblingIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := gzipping()
		tree := fstest.MapFS{"f.txt": {Data: []byte(prose), ModTime: stamp}, "f.txt.gz": {Data: []byte("sibling"), ModTime: stamp}}
		settings.FS, settings.MaxAge, settings.Precompressed = tree, time.Minute, true
		s := NewStore(settings)
		if e := open(t, s, "/f.txt", compress.Gzip); string(e.Data) != "sibling" {
			t.Fatalf("got %q", e.Data)
		}
		delete(tree, "f.txt.gz")
		time.Sleep(settings.MaxAge)
		if e := open(t, s, "/f.txt", compress.Gzip); string(e.Data) == "sibling" || unpacked(t, string(e.Data)) != prose {
			t.Errorf("got %.20q", e.Data)
		}
		s.cache.Clear()
	})
}
