package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

// Links of a tree lead no further than its directory, by any way, and don't go on forever.
func TestTreeLinks(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	tree := fstest.MapFS{
		"secret": {Data: []byte("secret")}, "d/in": {Data: []byte("in")}, "d/sub/x": {Data: []byte("x")},
		"d/ok": link("in"), "d/dot": link("./sub/./x"), "d/back": link("sub/../in"), "d/sub/up": link("../in"), "d/folder": link("sub"),
		"d/out": link("../secret"), "d/round": link("../d/in"), "d/sub/far": link("../../secret"), "d/climb": link("../in"),
		"d/abs": link("/d/in"), "d/slash": link("/in"),
		"d/loop": link("loop"), "d/ping": link("pong"), "d/pong": link("ping"), "d/none": link("nothing"), "d/empty": link(""),
		"d/l0": link("in"),
	}
	for i := range maxLinks {
		tree[fmt.Sprintf("d/l%d", i+1)] = link(fmt.Sprintf("l%d", i))
	}
	confined, free := newTreeSource(tree, "d", false), newTreeSource(tree, "d", true)
	for name, want := range map[string]string{
		"in": "in", "ok": "in", "dot": "x", "back": "in", "sub/up": "in", "folder/x": "x", "folder/up": "in",
		"l39": "in", "l40": "", // the 40th and the 41st link
		"out": "", "round": "", "sub/far": "", "folder/far": "", "climb": "", "abs": "", "slash": "", "loop": "", "ping": "", "none": "", "empty": "", "in/x": "",
	} {
		if got := readFrom(t, confined, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		info, err := confined.stat(name)
		if (err == nil) != (want != "") || err == nil && info.Size() != int64(len(want)) {
			t.Errorf("stat of %s: %v, %v", name, info, err)
		}
	}
	if got := readFrom(t, free, "out"); got != "secret" {
		t.Errorf("links may lead out, and one that does leads to %q", got)
	}
	if _, err := free.stat("out"); err != nil {
		t.Error(err)
	}
}

// A tree that tells what a file is without opening it is asked first: to open a pipe might
// wait.
func TestTreeIsAskedFirst(t *testing.T) {
	for name, want := range map[string]error{"f": nil, "d": nil, "pipe": errNotRegular, "none": fs.ErrNotExist} {
		tree := &countingTree{StatFS: fstest.MapFS{"f": {}, "d/x": {}, "pipe": {Mode: fs.ModeNamedPipe}}}
		f, _, err := newTreeSource(tree, ".", true).open(name)
		if !errors.Is(err, want) || (tree.opens == 1) != (want == nil) {
			t.Errorf("%s: %v after %d calls of Open, want %v", name, err, tree.opens, want)
		}
		if err == nil {
			f.Close()
		}
	}
}

// countingTree counts what is opened.
type countingTree struct {
	fs.StatFS
	opens int
}

func (c *countingTree) Open(name string) (fs.File, error) {
	c.opens++
	return c.StatFS.Open(name)
}

// An os.DirFS is served as a directory of the system, which links don't lead out of; a
// file system made of one isn't.
func TestSystemDir(t *testing.T) {
	dir := t.TempDir()
	sub, err := fs.Sub(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		fsys fs.FS
		want string
	}{
		"os.DirFS":        {os.DirFS(dir), dir},
		"no directory":    {os.DirFS(""), ""},
		"of another type": {fstest.MapFS{}, ""},
		"wrapped":         {struct{ fs.FS }{sub}, ""},
		"a string's type": {stringFS(dir), ""},
	} {
		if got, ok := systemDir(tt.fsys); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got %q, %v, want %q", what, got, ok, tt.want)
		}
	}
}

type stringFS string

func (stringFS) Open(string) (fs.File, error) { return nil, fs.ErrNotExist }

// A root that goes away and comes back, while nothing or something of it is held.
func TestRootDirGoesAndComes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	src := &rootDir{dir: dir}
	defer src.closeIdle()
	later := func() { src.checked = src.checked.Add(-rootCheckInterval) }
	if got := readFrom(t, src, "f"); got != "" {
		t.Errorf("got %q of no root", got)
	}
	write(t, filepath.Join(dir, "f"), "one") // seen at once: nothing is held
	if got := readFrom(t, src, "f"); got != "one" {
		t.Errorf("got %q, want the file of the new root", got)
	}
	src.closeIdle()
	src.closeIdle() // does nothing
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "f"), "two")
	if got := readFrom(t, src, "f"); got != "two" {
		t.Errorf("got %q, want the file of the root after it was let go", got)
	}
	later()
	held := src.root
	if got := readFrom(t, src, "f"); got != "two" || src.root != held {
		t.Errorf("got %q, want the root kept that is the same", got)
	}
}

// Names are paths of the system below a directory, or anywhere.
func TestOpenDirPath(t *testing.T) {
	sep := string(filepath.Separator)
	for _, tt := range []struct{ dir, name, want string }{
		{sep + "srv", "a/b", sep + filepath.Join("srv", "a", "b")},
		{sep + "srv", ".", sep + "srv"},
		{"", "etc/hosts", sep + filepath.Join("etc", "hosts")},
	} {
		if got := (openDir{tt.dir}).path(tt.name); got != tt.want {
			t.Errorf("%q below %q: %q, want %q", tt.name, tt.dir, got, tt.want)
		}
	}
	for dir, confined := range map[string]bool{sep + "srv": true, filepath.VolumeName(t.TempDir()) + sep: false, "": false} {
		if _, ok := newOSSource(dir, false, false).(*rootDir); ok != confined {
			t.Errorf("%q: confined %v", dir, ok)
		}
	}
}

// File systems that keep whole seconds cut the time stamp of a copy.
func TestIsCopyOf(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, tt := range []struct {
		copied time.Time
		want   bool
	}{
		{at, true}, {at.In(time.FixedZone("", 3600)), true}, {at.Truncate(time.Second), true},
		{at.Add(1), false}, {at.Add(time.Second), false}, {at.Truncate(time.Second).Add(-time.Second), false}, {at.Truncate(time.Second).Add(time.Second), false},
	} {
		if got := isCopyOf(tt.copied, at); got != tt.want {
			t.Errorf("%v: got %v", tt.copied, got)
		}
	}
}
