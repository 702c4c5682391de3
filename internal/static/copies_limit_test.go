package static

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// Copies never have more than their limit. The ones that were used last stay, and every request gets
// the right content.
func TestCopyLimit(t *testing.T) {
	dir, copies := t.TempDir(), t.TempDir()
	settings := gzipping()
	settings.Root, settings.CompressRoot = dir, copies
	settings.CopyLimit.Bytes = 3 * diskBlock
	s := NewStore(settings)
	name := func(i int) string { return fmt.Sprintf("f%d.txt", i) }
	for i := range 6 {
		writeAt(t, filepath.Join(dir, name(i)), prose+name(i), time.Now().Add(-time.Hour))
	}
	ask := func(i int) {
		t.Helper()
		e := open(t, s, "/"+name(i), compress.Gzip)
		defer e.Release()
		if got := unpacked(t, content(t, s, e)); got != prose+name(i) {
			t.Errorf("%s: got %d bytes", name(i), len(got))
		}
	}
	for _, tt := range []struct {
		ask  int
		want []int // the copies after that
	}{
		{0, []int{0}}, {1, []int{0, 1}}, {2, []int{0, 1, 2}},
		{0, []int{0, 1, 2}}, // used: 1 is the oldest now
		{3, []int{0, 2, 3}}, {4, []int{0, 3, 4}}, {1, []int{1, 3, 4}},
	} {
		ask(tt.ask)
		var want []string
		for _, i := range tt.want {
			want = append(want, name(i)+".packed")
		}
		if got := dirNames(t, copies); !slices.Equal(got, want) {
			t.Errorf("after %s there are %q, want %q", name(tt.ask), got, want)
		}
	}
	// A new version of a file replaces its copy.
	writeAt(t, filepath.Join(dir, name(4)), strings.ToUpper(prose), time.Now().Add(-time.Minute))
	e := open(t, s, "/"+name(4), compress.Gzip)
	if got := unpacked(t, content(t, s, e)); got != strings.ToUpper(prose) {
		t.Errorf("the new version is %.20q", got)
	}
	e.Release()
	if got := dirNames(t, copies); len(got) != 3 {
		t.Errorf("after a change there are %q", got)
	}
	if l := s.copies.(*limitedCopies); l.sum != 3*diskBlock || l.recent.Len() != 3 || len(l.byName) != 3 {
		t.Errorf("%d bytes, %d, %d are counted", l.sum, l.recent.Len(), len(l.byName))
	}
	// Whatever removes the copies, such as a cleaner of temporary files: they are made anew.
	for _, n := range dirNames(t, copies) {
		if err := os.Remove(filepath.Join(copies, n)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		ask(i)
	}
	if got := dirNames(t, copies); len(got) != 3 {
		t.Errorf("after they were removed there are %q", got)
	}
}

// Where no copy can be written, because the disk is full, broken or read-only, or a copy is too large,
// requests get the content all the same, and nothing is left or counted.
func TestCopyNotWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	full := func(int64) (func(), error) { return nil, errors.New("full") }
	for _, tt := range []struct {
		name   string
		copies string // the folder, or a new one
		limit  CopyLimit
		broken error // of each write
	}{
		{name: "no room", limit: CopyLimit{Bytes: 1 << 20, Room: full}},
		{name: "too large", limit: CopyLimit{Bytes: diskBlock - 1}},
		{name: "no folder", copies: filepath.Join(file, "copies"), limit: CopyLimit{Bytes: 1 << 20}},
		{name: "half of it was written", limit: CopyLimit{Bytes: 1 << 20}, broken: errors.New("input/output error")},
	} {
		dir, copies := t.TempDir(), tt.copies
		if copies == "" {
			copies = t.TempDir()
		}
		settings := gzipping()
		settings.Root, settings.CompressRoot, settings.CopyLimit = dir, copies, tt.limit
		writeAt(t, filepath.Join(dir, "f.txt"), prose, stamp)
		s := NewStore(settings)
		l := s.copies.(*limitedCopies)
		if tt.broken != nil {
			l.copyStore = brokenDisk{l.copyStore, copies, tt.broken}
		}
		for range 2 {
			e := open(t, s, "/f.txt", compress.Gzip)
			if !e.Absent { // otherwise the file itself is sent
				if got := unpacked(t, content(t, s, e)); got != prose {
					t.Errorf("%s: got %.20q", tt.name, got)
				}
			}
			e.Release()
		}
		if l.sum != 0 || len(l.byName) != 0 {
			t.Errorf("%s: %d bytes are counted", tt.name, l.sum)
		}
		if tt.copies == "" {
			if got := dirNames(t, copies); len(got) != 0 {
				t.Errorf("%s: there are %q", tt.name, got)
			}
		}
	}
}

// brokenDisk leaves half a file under the name of the copy, with the right time stamp, and fails.
type brokenDisk struct {
	copyStore
	dir string
	err error
}

func (b brokenDisk) write(name string, data []byte, like fs.FileInfo) error {
	name = filepath.Join(b.dir, name)
	if err := os.WriteFile(name, data[:len(data)/2], 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(name, like.ModTime(), like.ModTime()); err != nil {
		return err
	}
	return b.err
}

// A copy that is being written keeps its room and its name: others that need them aren't written.
func TestCopyIsWrittenMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name, first, second string
		limit               int64
		want                []string
		err                 error
	}{
		{"its room", "a", "b", diskBlock, []string{"a"}, errCopyBusy},
		{"its name", "a", "a", 2 * diskBlock, []string{"a"}, errCopyBusy},
		{"room for both", "a", "b", 2 * diskBlock, []string{"a", "b"}, nil},
	} {
		dir := t.TempDir()
		like := mustStat(t, dir)
		held := heldDisk{newOSSource(dir, false, false), "a", make(chan int), make(chan int)}
		c := newLimitedCopies(held, CopyLimit{Bytes: tt.limit})
		first := make(chan error)
		go func() { first <- c.write(tt.first, []byte("first"), like) }()
		<-held.reached
		second := make(chan error, 1)
		go func() { second <- c.write(tt.second, []byte("second"), like) }()
		if tt.err == nil || tt.first != tt.second {
			if err := <-second; !errors.Is(err, tt.err) {
				t.Errorf("%s: the second write: %v, want %v", tt.name, err, tt.err)
			}
		} else {
			select {
			case err := <-second:
				if !errors.Is(err, tt.err) {
					t.Errorf("%s: the second write: %v, want %v", tt.name, err, tt.err)
				}
			case <-held.reached:
				t.Errorf("%s: both are written at the same time", tt.name)
				held.proceed <- 1
			}
		}
		held.proceed <- 1
		if err := <-first; err != nil {
			t.Errorf("%s: the first write: %v", tt.name, err)
		}
		if got := dirNames(t, dir); !slices.Equal(got, tt.want) {
			t.Errorf("%s: there are %q, want %q", tt.name, got, tt.want)
		}
		if got := int64(len(dirNames(t, dir))) * diskBlock; c.sum != got {
			t.Errorf("%s: %d bytes are counted, want %d", tt.name, c.sum, got)
		}
	}
}

// heldDisk tells when a copy named name will be written, and waits before that.
type heldDisk struct {
	copyStore
	name             string
	reached, proceed chan int
}

func (h heldDisk) write(name string, data []byte, like fs.FileInfo) error {
	if name == h.name {
		h.reached <- 1
		<-h.proceed
	}
	return h.copyStore.write(name, data, like)
}
