//go:build unix

package static

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soon fails the test if f has not returned by then: it would wait forever.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: waits", what)
	}
}

func TestSourcesRefuseSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err == nil {
		defer ln.Close()
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]fileSource{
		"root": newOSSource(dir, false, false), "open": newOSSource(dir, true, false), "tree": newTreeSource(os.DirFS(dir), ".", true), "tree of links": newTreeSource(os.DirFS(dir), ".", false),
	} {
		for _, special := range []string{"fifo", "socket", "zero"} {
			soon(t, name+" "+special, func() {
				if f, _, err := src.open(special); err == nil {
					f.Close()
					t.Errorf("%s: opened a %s", name, special)
				}
			})
		}
		src.closeIdle()
	}
}

// Nothing leads out of a root unless links may.
func TestRootConfinement(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(outside, "secret"), "secret")
	write(t, filepath.Join(dir, "in"), "in")
	for link, to := range map[string]string{
		"rel": "../outside/secret", "abs": filepath.Join(outside, "secret"), "dir": "../outside", "ok": "in", "absin": filepath.Join(dir, "in"), "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	confined, free := newOSSource(dir, false, false), newOSSource(dir, true, false)
	defer confined.closeIdle()
	for name, want := range map[string][2]string{
		"in": {"in", "in"}, "ok": {"in", "in"}, "rel": {"", "secret"}, "abs": {"", "secret"}, "dir/secret": {"", "secret"}, "absin": {"", "in"}, "loop": {"", ""}, "missing": {"", ""},
	} {
		for i, src := range []fileSource{confined, free} {
			if got := readFrom(t, src, name); got != want[i] {
				t.Errorf("%s, links out %v: got %q, want %q", name, i == 1, got, want[i])
			}
		}
	}
	if err := confined.write("dir/copy", []byte("x"), mustStat(t, filepath.Join(dir, "in"))); err == nil {
		t.Error("wrote a copy through a link that leads out")
	}
	if _, err := os.Stat(filepath.Join(outside, "copy")); err == nil {
		t.Error("there is a copy outside")
	}
}

func TestRootDirIsReplaced(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(base, d, "f"), d)
	}
	current := filepath.Join(base, "current")
	if err := os.Symlink("a", current); err != nil {
		t.Fatal(err)
	}
	src := &rootDir{dir: current}
	defer src.closeIdle()
	if got := readFrom(t, src, "f"); got != "a" {
		t.Fatalf("got %q", got)
	}
	if err := os.Symlink("b", current+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(current+".new", current); err != nil {
		t.Fatal(err)
	}
	src.checked = src.checked.Add(-2 * rootCheckInterval)
	if got := readFrom(t, src, "f"); got != "b" {
		t.Errorf("got %q after the root was exchanged", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if _, err := src.stat("f"); err != nil {
					t.Error(err)
				}
				src.closeIdle() // closes the root that the others are using
			}
		})
	}
	wg.Wait()
}

func TestWriteCopy(t *testing.T) {
	base := t.TempDir()
	like := filepath.Join(base, "f")
	write(t, like, "plain")
	stamp := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	if err := os.Chtimes(like, stamp, stamp); err != nil {
		t.Fatal(err)
	}
	for _, followOut := range []bool{false, true} {
		src := newOSSource(base, followOut, false)
		if err := src.write("new/dir/f.gz", []byte("packed"), mustStat(t, like)); err != nil {
			t.Fatal(err)
		}
		info := mustStat(t, filepath.Join(base, "new/dir/f.gz"))
		if !isCopyOf(info.ModTime(), stamp) || info.Mode().Perm() != mustStat(t, like).Mode().Perm() {
			t.Errorf("the copy is of %v with %v", info.ModTime(), info.Mode())
		}
		entries, _ := os.ReadDir(filepath.Join(base, "new/dir"))
		if len(entries) != 1 {
			t.Errorf("%d files, want the copy alone", len(entries))
		}
		src.closeIdle()
	}
}
