package upload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func allowAll(fs.FileInfo) error { return nil }

// ways are the ways to give a new file its name, and when they work.
var ways = map[string]func(root *os.Root, from, to string) error{"rename": renameNew, "link": linkNew, "claim": claimNew}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

// part returns a finished file.
func part(t *testing.T, d *Folder, text string) *Part {
	t.Helper()
	p, err := d.Create(new(Space))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Discard)
	if _, err := p.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(); err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t *testing.T, dir string, segments ...string) *Folder {
	t.Helper()
	d, err := Open(dir, segments)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestOpen(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	write(t, filepath.Join(dir, "a", "b", "f"), "")
	write(t, filepath.Join(base, "outside", "f"), "")
	link(t, "a", filepath.Join(dir, "inside"))
	link(t, filepath.Join(base, "outside"), filepath.Join(dir, "out"))
	link(t, "../a/b", filepath.Join(dir, "a", "deep"))
	link(t, ".", filepath.Join(dir, "loop"))
	for _, c := range []struct {
		path string
		want error
	}{
		{"", nil}, {"a", nil}, {"a/b", nil},
		{"none", fs.ErrNotExist}, {"a/none", fs.ErrNotExist}, {"a/b/f", fs.ErrNotExist},
		{"inside", ErrLink}, {"inside/b", ErrLink}, {"out", ErrLink}, {"a/deep", ErrLink}, {"loop", ErrLink}, {"loop/a", ErrLink},
	} {
		var segments []string
		if c.path != "" {
			segments = strings.Split(c.path, "/")
		}
		d, err := Open(dir, segments)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%q: %v, want %v", c.path, err, c.want)
		}
		if err == nil {
			d.Close()
		}
	}
	link(t, dir, filepath.Join(base, "link"))
	open(t, filepath.Join(base, "link"), "a") // the served folder itself may be a link
}

// What replaces a folder after it was opened doesn't get the file.
func TestOpenStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open folder can't be renamed")
	}
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	write(t, filepath.Join(dir, "a", "f"), "")
	write(t, filepath.Join(base, "outside", "f"), "")
	d := open(t, dir, "a")
	p := part(t, d, "x")
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(base, "outside"), filepath.Join(dir, "a"))
	if _, err := p.Publish("new", false, allowAll); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "moved", "new")); got != "x" {
		t.Errorf("%q", got)
	}
	if _, err := os.Lstat(filepath.Join(base, "outside", "new")); err == nil {
		t.Error("the file was stored outside")
	}
}

// No way to publish a file replaces anything.
func TestPublishNew(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir)
			p := part(t, d, "new")
			err := way(d.root, p.Name(), "a")
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil || read(t, filepath.Join(dir, "a")) != "new" {
				t.Fatal(err)
			}
			if list, _ := os.ReadDir(dir); len(list) != 1 {
				t.Errorf("left behind: %v", list)
			}
			write(t, filepath.Join(dir, "file"), "old")
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
				t.Fatal(err)
			}
			link(t, "nowhere", filepath.Join(dir, "broken"))
			link(t, "file", filepath.Join(dir, "link"))
			for _, taken := range []string{"file", "folder", "broken", "link"} {
				p := part(t, d, "new")
				if err := way(d.root, p.Name(), taken); !errors.Is(err, fs.ErrExist) && !errors.Is(err, ErrExists) {
					t.Errorf("%s: %v", taken, err)
				}
				if _, err := p.Publish(taken, false, allowAll); err != ErrExists {
					t.Errorf("Publish %s: %v", taken, err)
				}
			}
			if read(t, filepath.Join(dir, "file")) != "old" {
				t.Error("the file was replaced")
			}
			if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
				t.Error("a link was followed")
			}
		})
	}
}

func TestPublishOver(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	write(t, filepath.Join(dir, "file"), "old")
	write(t, filepath.Join(dir, "target"), "target")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if replaced, err := part(t, d, "new").Publish("file", true, allowAll); err != nil || !replaced || read(t, filepath.Join(dir, "file")) != "new" {
		t.Errorf("replaced %v, %v", replaced, err)
	}
	if replaced, err := part(t, d, "new").Publish("other", true, allowAll); err != nil || replaced {
		t.Errorf("replaced %v, %v", replaced, err)
	}
	denied := errors.New("denied")
	if _, err := part(t, d, "denied").Publish("file", true, func(info fs.FileInfo) error {
		if info.Size() == 3 {
			return denied
		}
		return nil
	}); err != denied {
		t.Error(err)
	}
	if _, err := part(t, d, "new").Publish("folder", true, allowAll); err != ErrNotFile {
		t.Error(err)
	}
	link(t, "target", filepath.Join(dir, "link"))
	if _, err := part(t, d, "new").Publish("link", true, allowAll); err != ErrNotFile {
		t.Error(err)
	}
	if read(t, filepath.Join(dir, "target")) != "target" || read(t, filepath.Join(dir, "file")) != "new" {
		t.Error("something was replaced")
	}
}

func TestCreateMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	d := open(t, dir)
	write(t, filepath.Join(dir, "like"), "")
	p, err := d.Create(new(Space))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Discard()
	if info, err := os.Lstat(filepath.Join(dir, p.Name())); err != nil || info.Mode() != 0o600 || !Unfinished(info.Name()) {
		t.Errorf("%v, %v", info, err)
	}
	if err := p.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Publish("a", false, allowAll); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, _ := f.Stat()
	if got, err := os.Stat(filepath.Join(dir, "a")); err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v; %v", got.Mode(), want.Mode(), err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	now := time.Now()
	make := func(name string, age time.Duration) {
		write(t, filepath.Join(dir, name), "x")
		if err := os.Chtimes(filepath.Join(dir, name), now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("A", 26)
	make(Prefix+long, 48*time.Hour)
	make(Prefix+long[1:]+"B", 48*time.Hour) // busy
	make(Prefix+long[1:]+"C", time.Hour)
	make(Prefix+"notes.txt", 48*time.Hour)
	make("old", 48*time.Hour)
	write(t, filepath.Join(dir, Prefix+long[1:]+"D", "f"), "")
	if err := d.Sweep(now, func(name string) bool { return strings.HasSuffix(name, "B") }); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 5 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, Prefix+long)); err == nil {
		t.Error("a left-over stays")
	}
}

func TestSpace(t *testing.T) {
	d := open(t, t.TempDir())
	free := int64(100)
	space := &Space{Keep: 40, Free: func(*os.File) (int64, bool) { return free, true }}
	p, err := d.Create(space)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Discard()
	if p.Expect(60) != nil || p.Expect(61) != ErrNoSpace {
		t.Error("Expect doesn't keep 40 bytes free")
	}
	if _, err := p.Write([]byte("0123456789")); err != nil {
		t.Error(err)
	}
	free = 49
	if _, err := p.Write([]byte("0123456789")); err != ErrNoSpace || p.Size() != 10 {
		t.Errorf("%v, size %d", err, p.Size())
	}
	// Two writers don't count the same space.
	free = 60
	done, err := space.Take(p.f, "", 15)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := space.Take(p.f, "", 15); err != ErrNoSpace {
		t.Error(err)
	}
	done()
	if done, err = space.Take(p.f, "", 15); err != nil {
		t.Error(err)
	}
	done()
	if free, ok := freeSpace(p.f, d.path); !ok && (runtime.GOOS == "linux" || runtime.GOOS == "windows" || runtime.GOOS == "darwin") || ok && free < 0 {
		t.Errorf("the system says %d, %v", free, ok)
	}
	for _, c := range []struct {
		n, size, filesFree, files uint64
		want                      int64
	}{{10, 4096, 5, 100, 40960}, {10, 4096, 0, 100, 0}, {10, 4096, 0, 0, 40960}, {1 << 62, 4096, 0, 0, 1<<63 - 1}} {
		if got := blocksFree(c.n, c.size, c.filesFree, c.files); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Of uploads with the same condition, which all but the first one break, one succeeds, and the file is
// that one's: If-Match with the tag of the file that exists, and If-None-Match: *.
func TestPublishOnce(t *testing.T) {
	refused := errors.New("refused")
	for _, exists := range []bool{true, false} {
		dir := t.TempDir()
		d := open(t, dir)
		path := filepath.Join(dir, "f")
		if exists {
			write(t, path, "first")
		}
		tag := string(d.Tag("f"))
		allow := func(existing fs.FileInfo) error {
			if (existing != nil) != exists || exists && string(d.Tag("f")) != tag {
				return refused
			}
			time.Sleep(10 * time.Millisecond) // so that the others come, if they can
			return nil
		}
		const clients = 4
		var parts [clients]*Part
		for i := range parts {
			parts[i] = part(t, d, strings.Repeat("x", i))
		}
		var winners []int
		var mu sync.Mutex
		var done sync.WaitGroup
		for i, p := range parts {
			done.Go(func() {
				switch replaced, err := p.Publish("f", true, allow); {
				case err == nil && replaced == exists:
					mu.Lock()
					defer mu.Unlock()
					winners = append(winners, i)
				case err != refused:
					t.Errorf("exists %t: replaced %t, %v", exists, replaced, err)
				}
			})
		}
		done.Wait()
		if len(winners) != 1 || len(read(t, path)) != winners[0] {
			t.Errorf("exists %t: %v succeeded, and the file has %d bytes", exists, winners, len(read(t, path)))
		}
	}
}
