// Package renewedtest has the ways in which files are renewed, for the tests of what watches
// files.
package renewedtest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// Watched are files, and what watches them.
type Watched struct {
	// Names are the names of the files. Old and New are what is in them, a text for each.
	// They may end in empty lines.
	Names    []string
	Old, New []string
	// Every is how long a look is after the one before.
	Every time.Duration
	// RealClock says that the functions that Watch returns ignore the time that they get.
	RealClock bool
	// Watch begins to watch the files, which have these paths. It returns a function that
	// looks at them at a time and returns which version is in use, "old" or "new".
	Watch func(t *testing.T, now time.Time, paths ...string) (look func(now time.Time) string)
}

// Run renews the files in all ways. It proves that the new version is used at the look
// after the last step, and that each look before finds a version in use.
func Run(t *testing.T, w Watched) {
	for _, way := range ways {
		if way.setsClock && w.RealClock {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			if way.links && runtime.GOOS == "windows" {
				t.Skip("links need a privilege")
			}
			now := time.Now()
			r := &renewal{t: t, w: w, dir: t.TempDir(), size: sizeOf(w), now: now, age: now.Add(-time.Hour)}
			if way.inFuture {
				r.age = now.Add(time.Hour)
			}
			if way.place == nil {
				way.place = placeFiles
			}
			way.place(r)
			paths := make([]string, len(w.Names))
			for i, name := range w.Names {
				paths[i] = r.path(name)
			}
			r.use = w.Watch(t, now, paths...)
			if got := r.look(); got != "old" {
				t.Fatalf("before the renewal %q is in use", got)
			}
			way.renew(r)
			if got := r.look(); got != "new" {
				t.Errorf("after the renewal %q is in use", got)
			}
		})
	}
}

// sizeOf returns a size for all files, so that no version is known by it.
func sizeOf(w Watched) int {
	size := 0
	for i := range w.Names {
		size = max(size, len(w.Old[i]), len(w.New[i]))
	}
	return size + 1
}

// renewal is the state of a test: a folder, and a clock.
type renewal struct {
	t    *testing.T
	w    Watched
	use  func(now time.Time) string
	dir  string
	size int       // of each file
	now  time.Time // of the last look
	age  time.Time // of the files
}

// look looks at the files and returns what is in use.
func (r *renewal) look() string {
	r.t.Helper()
	r.now = r.now.Add(r.w.Every)
	got := r.use(r.now)
	if got != "old" && got != "new" {
		r.t.Errorf("in use is %q", got)
	}
	return got
}

func (r *renewal) path(name string) string { return filepath.Join(r.dir, name) }

func (r *renewal) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("renewing: %v", err)
	}
}

// write writes a file of the usual size over what is there.
func (r *renewal) write(name, text string) {
	r.t.Helper()
	r.writeBytes(name, append([]byte(text), bytes.Repeat([]byte("\n"), r.size-len(text))...))
}

// writeBytes writes a file with the time r.age.
func (r *renewal) writeBytes(name string, b []byte) {
	r.t.Helper()
	r.check(os.WriteFile(r.path(name), b, 0o600))
	r.check(os.Chtimes(r.path(name), r.age, r.age))
}

// swap puts a file in the place of another one.
func (r *renewal) swap(name, text string) {
	r.t.Helper()
	r.write("next", text)
	r.check(os.Rename(r.path("next"), r.path(name)))
}

// later makes the files that are written from now on a minute younger.
func (r *renewal) later() { r.age = r.age.Add(time.Minute) }

func placeFiles(r *renewal) {
	for i, name := range r.w.Names {
		r.write(name, r.w.Old[i])
	}
}

// placeLinks makes links as Kubernetes does: the name, ..data, a folder.
func placeLinks(r *renewal) {
	folder(r, "..1", r.w.Old)
	r.check(os.Symlink("..1", r.path("..data")))
	for _, name := range r.w.Names {
		r.check(os.Symlink(filepath.Join("..data", name), r.path(name)))
	}
}

func folder(r *renewal, dir string, texts []string) {
	r.check(os.Mkdir(r.path(dir), 0o700))
	for i, name := range r.w.Names {
		r.write(filepath.Join(dir, name), texts[i])
	}
}

// backward calls f for each file, from the last to the first.
func (r *renewal) backward(f func(i int, name string)) {
	for i := len(r.w.Names) - 1; i >= 0; i-- {
		f(i, r.w.Names[i])
	}
}

// ways are ways to renew files. If nothing else is said, the files are an hour old, and the
// new ones differ from the old ones neither in size nor in time.
var ways = []struct {
	name      string
	inFuture  bool // the files are younger than the clock says
	links     bool
	setsClock bool
	place     func(r *renewal)
	renew     func(r *renewal)
}{
	{name: "renamed", renew: func(r *renewal) {
		r.later()
		for i, name := range r.w.Names {
			r.swap(name, r.w.New[i])
		}
	}},
	{name: "renamed, of the same time", renew: func(r *renewal) {
		for i, name := range r.w.Names {
			r.swap(name, r.w.New[i])
		}
	}},
	{name: "copied", renew: func(r *renewal) {
		r.later()
		for i, name := range r.w.Names {
			r.write(name, r.w.New[i])
		}
	}},
	{name: "copied, of the same time and another size", renew: func(r *renewal) {
		r.size++
		for i, name := range r.w.Names {
			r.write(name, r.w.New[i])
		}
	}},
	{name: "copied within a tick of the clock", inFuture: true, renew: func(r *renewal) {
		for i, name := range r.w.Names {
			r.write(name, r.w.New[i])
		}
	}},
	{name: "half a file at first", renew: func(r *renewal) {
		r.later()
		for i, name := range r.w.Names {
			r.writeBytes(name, []byte(r.w.New[i][:len(r.w.New[i])/2]))
			r.look()
			r.write(name, r.w.New[i])
		}
	}},
	{name: "wrong bytes at first, of the same size and time", renew: func(r *renewal) {
		r.later()
		for i, name := range r.w.Names {
			r.write(name, "wrong")
			r.look()
			r.look()
			r.write(name, r.w.New[i])
		}
	}},
	{name: "one after the other", renew: func(r *renewal) {
		r.later()
		for i, name := range r.w.Names {
			r.swap(name, r.w.New[i])
			r.look()
		}
	}},
	{name: "one after the other, the last first", renew: func(r *renewal) {
		r.later()
		r.backward(func(i int, name string) {
			r.swap(name, r.w.New[i])
			r.look()
		})
	}},
	{name: "missing for a while", renew: func(r *renewal) {
		for i, name := range r.w.Names {
			r.check(os.Remove(r.path(name)))
			r.look()
			r.look()
			r.swap(name, r.w.New[i])
		}
	}},
	// As root, a test can read all files but not a folder. The folder has the file's time.
	{name: "unreadable for a while", renew: func(r *renewal) {
		r.later()
		r.backward(func(i int, name string) {
			r.check(os.Remove(r.path(name)))
			r.check(os.Mkdir(r.path(name), 0o700))
			r.check(os.Chtimes(r.path(name), r.age, r.age))
			r.look()
			r.look()
			r.check(os.Remove(r.path(name)))
			r.write(name, r.w.New[i])
		})
	}},
	{name: "a link is turned", links: true, place: placeLinks, renew: func(r *renewal) {
		folder(r, "..2", r.w.New)
		r.check(os.Symlink("..2", r.path("..next")))
		r.check(os.Rename(r.path("..next"), r.path("..data")))
		r.check(os.RemoveAll(r.path("..1")))
	}},
	{name: "a link leads nowhere for a while", links: true, place: placeLinks, renew: func(r *renewal) {
		r.check(os.RemoveAll(r.path("..1")))
		r.look()
		folder(r, "..1", r.w.New)
	}},
	{name: "the clock goes back", setsClock: true, renew: func(r *renewal) {
		r.now = r.now.Add(-24 * time.Hour)
		for i, name := range r.w.Names {
			r.swap(name, r.w.New[i])
		}
	}},
}
