package folderzip

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var settings = Settings{Hide: func(name string) bool { return strings.HasPrefix(name, ".") }, MaxEntries: 1000, MaxDepth: 8}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// written writes a and reads it back.
func written(t *testing.T, a *Archive) *zip.Reader {
	t.Helper()
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// contents writes a and returns the files in it.
func contents(t *testing.T, a *Archive) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, f := range written(t, a).File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(rc)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		rc.Close()
		files[f.Name] = string(text)
	}
	return files
}

// Files change between the plan and the writing, and while they are written.
func TestFilesThatChange(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	for _, name := range []string{"grows", "shrinks", "goes", "folder", "link", "sub/f"} {
		write(t, filepath.Join(dir, name), "0123456789")
	}
	write(t, filepath.Join(base, "outside", "f"), "secret")
	a, err := Plan(t.Context(), openRoot(t, dir), ".", "top", settings)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "grows"), "0123456789+")
	write(t, filepath.Join(dir, "shrinks"), "0")
	for _, name := range []string{"goes", "folder", "link", "sub/f", "sub"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside/f", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink("../outside", filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	got := contents(t, a)
	if got["top/grows"] != "0123456789+" || got["top/shrinks"] != "0" || len(got) != 3 {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"goes", "folder", "link", "sub", "sub/f"} {
		if !strings.Contains(got["top/SKIPPED.txt"], fmt.Sprintf("%q\n", name)) {
			t.Errorf("%s isn't named in %q", name, got["top/SKIPPED.txt"])
		}
	}
}

// slowWriter lets a test act while a file is written.
type slowWriter struct {
	n   int
	act func()
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.n += len(p); w.act != nil {
		w.act()
	}
	return len(p), nil
}

// A file to which a program always appends doesn't keep the archive from ending.
func TestFileThatGrows(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "log.bin") // stored as it is
	write(t, name, strings.Repeat("x", 1<<20))
	a, err := Plan(t.Context(), openRoot(t, dir), ".", "top", settings)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &slowWriter{act: func() { _, _ = f.WriteString(strings.Repeat("y", 64<<10)) }}
	if err := a.Write(w); err != nil || w.n > 1<<20+1000 {
		t.Errorf("%d bytes, %v", w.n, err)
	}
}

// A file that is cut while it is written breaks the archive off.
func TestFileThatShrinks(t *testing.T) {
	data := make([]byte, 1<<20) // it can't be compressed: the first pieces are written early
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	for _, name := range []string{"stored.bin", "deflated.txt"} {
		for _, left := range []int64{0, 1000, 1<<20 - 1} {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.txt"), "whole")
			file := filepath.Join(dir, "b", name)
			write(t, file, string(data))
			a, err := Plan(t.Context(), openRoot(t, dir), ".", "top", settings)
			if err != nil {
				t.Fatal(err)
			}
			w := &slowWriter{act: func() {
				if err := os.Truncate(file, left); err != nil {
					t.Error(err)
				}
			}}
			err = a.Write(w)
			if failed := new(ReadError); !errors.As(err, &failed) || failed.Name != "b/"+name || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d bytes left: %v", name, left, err)
			}
		}
	}
}

func TestNames(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("this system doesn't allow these names")
	}
	dir := t.TempDir()
	for _, name := range []string{"good ü", `x\..\evil`, "a\nb", "a\xff", "sub/x\\y", "SKIPPED.txt", "skipped-1.TXT"} {
		write(t, filepath.Join(dir, name), "x")
	}
	a, err := Plan(t.Context(), openRoot(t, dir), ".", `..\top`, settings)
	if err != nil {
		t.Fatal(err)
	}
	got := contents(t, a)
	text := got["files/SKIPPED-2.txt"]
	if len(got) != 5 || got["files/good ü"] != "x" || strings.Count(text, "\"\n") != 4 || !strings.Contains(text, `"x\\..\\evil"`) || !strings.Contains(text, `"a\xff"`) {
		t.Errorf("%q", got)
	}
	for name := range got {
		if strings.ContainsAny(name, "\\\n") || !fs.ValidPath(strings.TrimSuffix(name, "/")) {
			t.Errorf("%q is in the archive", name)
		}
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(dir, "many", fmt.Sprint(i)), "")
		write(t, filepath.Join(dir, "hidden", fmt.Sprint(".", i)), "")
	}
	write(t, filepath.Join(dir, "a", "b", "c", "d"), "")
	root := openRoot(t, dir)
	for _, c := range []struct {
		from           string
		entries, depth int
		want           error
	}{
		{"many", 20, 1, nil}, {"many", 19, 1, ErrTooMany}, {"hidden", 19, 1, ErrTooMany}, {".", 43, 4, ErrTooMany}, {".", 47, 4, nil},
		{"a", 100, 3, nil}, {"a", 100, 2, ErrTooDeep}, {".", 100, 3, ErrTooDeep},
		{"none", 10, 10, fs.ErrNotExist}, {"many/1", 10, 10, fs.ErrNotExist}, {"../x", 10, 10, errors.New("escapes")},
	} {
		s := settings
		s.MaxEntries, s.MaxDepth = c.entries, c.depth
		_, err := Plan(t.Context(), root, c.from, "top", s)
		if c.want == nil && err != nil || c.want != nil && err == nil || (c.want == ErrTooMany || c.want == ErrTooDeep || c.want == fs.ErrNotExist) && !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Plan(ctx, root, ".", "top", settings); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

// Errors end the writing at once, and say whose they are.
func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(dir, fmt.Sprint(i, ".png")), strings.Repeat("x", 100_000))
	}
	a, err := Plan(t.Context(), openRoot(t, dir), ".", "top", settings)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	w := &failingWriter{left: 150_000, err: gone}
	if err := a.Write(w); err != gone || w.calls > 1 {
		t.Errorf("%v after %d calls", err, w.calls)
	}
}

type failingWriter struct {
	left, calls int
	err         error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		w.calls++
		return 0, w.err
	}
	return len(p), nil
}

func TestOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/z", "a/b/c", "c"} {
		write(t, filepath.Join(dir, name), "")
	}
	a, err := Plan(t.Context(), openRoot(t, dir), ".", "top", settings)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range a.entries {
		names = append(names, e.name)
	}
	if want := []string{"a", "a/b", "a/b/c", "a/z", "b", "c"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// TestDates proves that a time that the archive's format can't hold becomes the nearest one, and
// that none wraps around: the dates of MS-DOS go from 1980 to 2107, the seconds of the extra
// field to 2038.
func TestDates(t *testing.T) {
	dir := t.TempDir()
	const day = "2006-01-02"
	want := map[string]string{
		"1901-12-01": "1980-01-01", "1960-06-01": "1980-01-01", "1970-01-01": "1980-01-01", "1979-12-31": "1980-01-01", "1980-01-01": "1980-01-01",
		"2026-11-28": "2026-11-28", "2038-01-18": "2038-01-18", "2038-01-21": "2038-01-21", "2050-06-01": "2050-06-01", "2106-03-01": "2106-03-01",
		"2107-12-31": "2107-12-31", "2108-01-01": "2107-12-31", "2120-06-01": "2107-12-31", "2262-01-01": "2107-12-31",
	}
	for name := range want {
		write(t, filepath.Join(dir, "f", name), "x")
		at, err := time.ParseInLocation(day, name, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(12 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "f", name), at, at); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "f", name)); err != nil || !info.ModTime().Equal(at) {
			t.Logf("the file system has no %s", name)
			delete(want, name)
		}
	}
	a, err := Plan(t.Context(), openRoot(t, dir), "f", "top", settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range written(t, a).File {
		date, ok := want[filepath.Base(f.Name)]
		if !ok {
			continue
		}
		dos := fmt.Sprintf("%d-%02d-%02d", 1980+int(f.ModifiedDate>>9), f.ModifiedDate>>5&15, f.ModifiedDate&31)
		if whole := f.Modified.In(time.Local).Format(day); len(f.Extra) > 0 && whole != date {
			t.Errorf("a file of %s: the extra field says %s, want %s", filepath.Base(f.Name), whole, date)
		}
		if dos != date {
			t.Errorf("a file of %s: MS-DOS has %s, want %s", filepath.Base(f.Name), dos, date)
		}
		delete(want, filepath.Base(f.Name))
	}
	for name := range want {
		if _, err := os.Stat(filepath.Join(dir, "f", name)); err == nil {
			t.Errorf("%s isn't in the archive", name)
		}
	}
}
