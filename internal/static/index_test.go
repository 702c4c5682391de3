package static

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// links returns where the links of a listing of path lead.
func links(t *testing.T, s *Store, path string) (to []string) {
	t.Helper()
	for _, part := range strings.Split(get(t, s, path), `<a href="`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		to = append(to, name)
	}
	return to
}

// A listing shows what can be served, folders first, and nothing else.
func TestListingShowsWhatIsServed(t *testing.T) {
	tree := fstest.MapFS{
		"d/b.txt": {}, "d/A": {}, "d/sub/x": {}, "d/.hidden": {}, "d/a.packed": {}, "d/a.gz": {},
		"d/pipe": {Mode: fs.ModeNamedPipe}, "d/device": {Mode: fs.ModeDevice},
		"d/link": {Data: []byte("b.txt"), Mode: fs.ModeSymlink}, "d/folder": {Data: []byte("sub"), Mode: fs.ModeSymlink},
		"d/nowhere": {Data: []byte("none"), Mode: fs.ModeSymlink}, "d/out": {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink},
	}
	settings := Settings{FS: tree, Listings: true, Compress: Of(compress.Gzip), Codings: Of(compress.Gzip), ETags: true}
	settings.Suffixes[compress.Gzip] = ".packed"
	want := []string{"../", "./folder/", "./sub/", "./.hidden", "./A", "./a.gz", "./b.txt", "./link"}
	if got := links(t, NewStore(settings), "/d/"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	settings.Rules.HideDot = true
	want = slices.Delete(want, 3, 4)
	if got := links(t, NewStore(settings), "/d/"); !slices.Equal(got, want) {
		t.Errorf("without dot files: got %q, want %q", got, want)
	}
	settings.Compress = 0 // a.packed is a file like others then
	if got := links(t, NewStore(settings), "/d/"); !slices.Contains(got, "./a.packed") {
		t.Errorf("without compression: got %q", got)
	}
	if got := links(t, NewStore(settings), "/"); !slices.Equal(got, []string{"./d/"}) {
		t.Errorf("the root: got %q, want no way up", got)
	}
}

// A listing has neither a date nor a tag, for sizes in it change without them, and it has
// no variants.
func TestListingIsNotCompared(t *testing.T) {
	s := NewStore(Settings{
		FS: fstest.MapFS{"d": {Mode: fs.ModeDir, ModTime: stamp}, "d/f": {}}, Listings: true,
		ETags: true, StrongETags: true, Codings: Of(compress.Gzip), Compress: Of(compress.Gzip),
	})
	e := open(t, s, "/d/", compress.Identity)
	if !e.Listing || e.ContentType != "text/html; charset=utf-8" {
		t.Errorf("listing %v of type %q", e.Listing, e.ContentType)
	}
	if !e.Valid.ModTime.IsZero() || e.Valid.ETag != nil || e.LastModified != nil || e.Varies {
		t.Errorf("Last-Modified %q, ETag %q, varies %v", e.LastModified, e.Valid.ETag, e.Varies)
	}
	if e := open(t, s, "/d/", compress.Gzip); !e.Absent || !e.NeverCoded {
		t.Errorf("in gzip: absent %v, never coded %v", e.Absent, e.NeverCoded)
	}
}

// Clients learn the path they asked for, but of a path of the system its last folder only.
func TestListingTitle(t *testing.T) {
	tree := fstest.MapFS{"home/x<y/f": {}}
	for volume, want := range map[bool]string{false: "/home//x&lt;y/", true: "x&lt;y/"} {
		s := NewStore(Settings{FS: tree, Listings: true, Rules: Rules{Volume: volume}})
		if page := get(t, s, "/home//x<y/"); !strings.Contains(page, "<title>"+want+"</title>") || !strings.Contains(page, "<h1>"+want+"</h1>") {
			t.Errorf("volume %v: no %q in\n%s", volume, want, page)
		}
	}
}

// A listing has the path of the client as its title, and links that work there, although
// another path leads to the folder. Clients with other paths have their own.
func TestListingShown(t *testing.T) {
	s := NewStore(Settings{FS: fstest.MapFS{"d/a b/f": {}}, Listings: true, MaxAge: time.Minute})
	for _, tt := range []struct{ shown, title, parent, link string }{
		{"", "/d/", "../", "./a%20b/"},
		{"/d/", "/d/", "../", "./a%20b/"},
		{"/x/y z", "/x/y z", "./", "./y%20z/a%20b/"},
		{"/x/y z/", "/x/y z/", "../", "./a%20b/"},
		{"/x/a:b", "/x/a:b", "./", "./a%3Ab/a%20b/"},
		{"/x/y z", "/x/y z", "./", "./y%20z/a%20b/"},
	} {
		e, err := s.Open([]byte("/d/"), compress.Identity, &Seen{Shown: []byte(tt.shown)})
		if err != nil {
			t.Fatal(err)
		}
		page := string(e.Data)
		e.Release()
		for _, want := range []string{"<title>" + tt.title + "</title>", "<h1>" + tt.title + "</h1>", `href="` + tt.parent + `" class="dir" aria`, `href="` + tt.link + `"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%q: no %q in\n%s", tt.shown, want, page)
			}
		}
	}
}

// A directory that can't be read isn't half a listing.
func TestListingFails(t *testing.T) {
	broken := errors.New("broken")
	for what, tt := range map[string]struct {
		tree fs.FS
		want error
	}{
		"no ReadDir":    {plainTree{fstest.MapFS{"d/f": {}}}, ErrNoIndex},
		"ReadDir fails": {&listedTree{names: newListedTree(t, 2000, "n").names, broken: broken}, broken},
	} {
		s := NewStore(Settings{FS: tt.tree, Listings: true})
		if _, err := s.Open([]byte("/"), compress.Identity, new(Seen)); err != tt.want {
			t.Errorf("%s: got %v, want %v", what, err, tt.want)
		}
	}
}

// listedTree is a directory with many files. It counts how often it is listed, and each
// listing waits for gate, if there is one.
type listedTree struct {
	names  []fs.DirEntry
	reads  atomic.Int32
	gate   chan struct{}
	broken error // of a later read of a directory
}

func newListedTree(t *testing.T, n int, name string) *listedTree {
	t.Helper()
	files := fstest.MapFS{}
	for i := range n {
		files[fmt.Sprintf("%05d%s", i, name)] = &fstest.MapFile{}
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return &listedTree{names: entries}
}

func (l *listedTree) Open(name string) (fs.File, error) {
	if name != "." {
		return nil, fs.ErrNotExist
	}
	return &listedDir{tree: l, rest: l.names}, nil
}

type listedDir struct {
	tree *listedTree
	rest []fs.DirEntry
}

func (d *listedDir) Stat() (fs.FileInfo, error) { return fstest.MapFS{}.Stat(".") }
func (d *listedDir) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (d *listedDir) Close() error               { return nil }

func (d *listedDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if len(d.rest) == len(d.tree.names) {
		d.tree.reads.Add(1)
		if d.tree.gate != nil {
			<-d.tree.gate
		}
	}
	if len(d.rest) < len(d.tree.names) && d.tree.broken != nil {
		return nil, d.tree.broken
	}
	batch := d.rest[:min(n, len(d.rest))]
	if d.rest = d.rest[len(batch):]; len(batch) == 0 {
		return nil, io.EOF
	}
	return batch, nil
}

// However many names there are and however long they are, a listing has a bound, says
// how many are left out, and is made once as long as it is in the cache.
func TestBigListing(t *testing.T) {
	for _, tt := range []struct {
		n    int
		name string
	}{{20, "n"}, {10_500, "n"}, {9_000, strings.Repeat("n", 60)}, {5_000, strings.Repeat("<", 240)}, {150_000, "n"}} {
		tree := newListedTree(t, tt.n, tt.name)
		s := NewStore(Settings{FS: tree, Listings: true, MaxAge: time.Hour})
		for range 3 {
			page := get(t, s, "/")
			if len(page) > maxListing+8<<10 {
				t.Fatalf("%d names like %.5s: %d bytes", tt.n, tt.name, len(page))
			}
			shown := strings.Count(page, "<tr><td")
			more := 0
			if _, rest, ok := strings.Cut(page, "<p>and "); ok {
				fmt.Sscan(rest, &more)
			}
			if want := min(tt.n, maxListRead); shown+more != want || shown > maxListed || more < 0 {
				t.Errorf("%d names like %.5s: %d shown and %d more", tt.n, tt.name, shown, more)
			}
		}
		if n := tree.reads.Load(); n != 1 {
			t.Errorf("%d names like %.5s: read %d times", tt.n, tt.name, n)
		}
	}
}

// Requests for a listing that is being made wait for it, with a cache or without.
func TestListingIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newListedTree(t, 100, "n")
		tree.gate = make(chan struct{})
		s := NewStore(Settings{FS: tree, Listings: true})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if page := get(t, s, "/"); strings.Count(page, "<tr><td") != 100 {
					t.Errorf("%d bytes", len(page))
				}
			})
		}
		synctest.Wait() // one reads, the others wait for it
		close(tree.gate)
		wg.Wait()
		if n := tree.reads.Load(); n != 1 {
			t.Errorf("read %d times", n)
		}
	})
}

// hungTree has files and directories that can't be read before gate is closed.
type hungTree struct {
	fstest.MapFS
	gate chan int
}

func (h hungTree) Open(name string) (fs.File, error) {
	f, err := h.MapFS.Open(name)
	return hungFile{f, h.gate}, err
}

type hungFile struct {
	fs.File
	gate chan int
}

func (f hungFile) ReadAt(p []byte, off int64) (int, error) {
	<-f.gate
	return f.File.(io.ReaderAt).ReadAt(p, off)
}

func (f hungFile) ReadDir(n int) ([]fs.DirEntry, error) {
	<-f.gate
	return f.File.(fs.ReadDirFile).ReadDir(n)
}

// While a file system hangs, files of others are sent as they are after a while, and listings
// fail: no request waits without end for a place that is taken.
func TestPlacesOfHungFileSystem(t *testing.T) {
	places, lists := compressing, listing
	defer func() { compressing, listing = places, lists }()
	for what, tt := range map[string]struct {
		path   string
		coding compress.Coding
		busy   func(e *Entry, err error) bool
	}{
		"compressing": {"/f.txt", compress.Gzip, func(e *Entry, err error) bool { return err == nil && e.Absent && e.NeverCoded }},
		"listing":     {"/d/", compress.Identity, func(_ *Entry, err error) bool { return err == ErrBusy }},
	} {
		synctest.Test(t, func(t *testing.T) {
			compressing, listing = make(chan struct{}, 1), make(chan struct{}, 1) // of the bubble
			settings := gzipping()
			settings.Listings = true
			sound := fstest.MapFS{"f.txt": {Data: []byte(prose)}, "d/x": {}}
			hung := hungTree{sound, make(chan int)}
			settings.FS = hung
			var wg sync.WaitGroup
			wg.Go(func() { open(t, NewStore(settings), tt.path, tt.coding) })
			synctest.Wait() // it has the place
			settings.FS = sound
			s, start := NewStore(settings), time.Now()
			var asks sync.WaitGroup
			for range 10 {
				asks.Go(func() {
					if e, err := s.Open([]byte(tt.path), tt.coding, new(Seen)); !tt.busy(e, err) {
						t.Errorf("%s: got %+v, %v", what, e, err)
					}
				})
			}
			asks.Wait()
			if d := time.Since(start); d != placeTime {
				t.Errorf("%s: it took %v, want %v", what, d, placeTime)
			}
			close(hung.gate)
			wg.Wait()
			if e := open(t, s, tt.path, tt.coding); e.Absent || len(compressing)+len(listing) != 0 {
				t.Errorf("%s: got %+v after the place was given back", what, e)
			}
		})
	}
}
