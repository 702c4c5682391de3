package gale

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/galehttp/gale/internal/static"
)

// openShared writes data to a file and opens it.
func openShared(t *testing.T, data string) (*static.File, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return static.NewFile(f), name
}

func TestFileBody(t *testing.T) {
	data := strings.Repeat("0123456789", 10_000)
	file, _ := openShared(t, data)
	defer file.Release()
	body := func() *fileBody { file.Acquire(); return newFileBody(file, 5, 90_000) }
	want := []byte(data[5:90_005])
	b := body()
	if err := iotest.TestReader(struct{ io.Reader }{b}, want); err != nil {
		t.Error(err)
	}
	b.Close()
	b = body()
	f, off, n, ok := b.fileRange()
	if !ok || f != file.OS() || off != 5 || n != 90_000 {
		t.Errorf("file range %v, %d, %d, %v", f, off, n, ok)
	}
	io.ReadFull(b, make([]byte, 10))
	if _, off, n, _ = b.fileRange(); off != 15 || n != 89_990 {
		t.Errorf("file range after a read: %d, %d", off, n)
	}
	var out bytes.Buffer
	if n, err := b.WriteTo(&out); n != 89_990 || err != nil || !bytes.Equal(out.Bytes(), want[10:]) {
		t.Errorf("wrote %d, %v", n, err)
	}
	b.Close()
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, _, _, ok := b.fileRange(); ok {
		t.Error("a closed body has a file")
	}
}

func TestFileBodyTruncated(t *testing.T) {
	file, name := openShared(t, "0123456789")
	b := newFileBody(file, 0, 10)
	defer b.Close()
	if err := os.Truncate(name, 4); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(b)
	if string(got) != "0123" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v: a body must not end as if it was whole", got, err)
	}
}

func TestPartsBody(t *testing.T) {
	data := strings.Repeat("abcdefghij", 5000)
	file, _ := openShared(t, data)
	frame := static.Multipart{Boundary: "b", ContentType: "text/plain", Size: int64(len(data))}
	rs := []static.Range{{Start: 40_000, Length: 5000}, {Start: 0, Length: 1}, {Start: 3, Length: 100}}
	var want []byte
	for i, r := range rs {
		want = frame.AppendPartHead(want, r, i == 0)
		want = append(want, data[r.Start:r.Start+r.Length]...)
	}
	want = frame.AppendEnd(want)
	if n := frame.Len(rs); n != int64(len(want)) {
		t.Fatalf("length %d, want %d", n, len(want))
	}
	b := newPartsBody(file, frame, rs)
	if err := iotest.TestReader(struct{ io.Reader }{b}, want); err != nil {
		t.Error(err)
	}
	b.Close()
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if file.Acquire() {
		t.Error("the file is still open")
	}
}

// onlyReader hides all methods of an fs.File except the three of the interface.
type onlyReader struct{ fs.File }

// plainTree is a tree whose files can only be read from the start.
type plainTree struct{ fs.FS }

func (p plainTree) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return f, nil
	}
	return onlyReader{f}, nil
}

func TestTreeBody(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 1000))
	tree := fstest.MapFS{"f": {Data: data}}
	for _, fsys := range []fs.FS{tree, plainTree{tree}} {
		f, err := fsys.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		b := &treeBody{file: f, skip: 1234, n: 5000}
		if err := iotest.TestReader(b, data[1234:6234]); err != nil {
			t.Errorf("%T: %v", fsys, err)
		}
		b.Close()
		if err := b.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}
