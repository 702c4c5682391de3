package upload

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// An unfinished file may have more bytes than an int of 32 bits can say. Run it with GOARCH=386.
func TestPartBeyondInt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files may not be sparse here")
	}
	dir := t.TempDir()
	d, err := Open(dir, nil)
	if err != nil {
		t.Fatal("opening the folder:", err)
	}
	defer d.Close()
	p, err := d.Create(new(Space))
	if err != nil {
		t.Fatal("making the file:", err)
	}
	defer p.Discard()
	const from = 1<<31 - 3
	if _, err := p.f.Seek(from, io.SeekStart); err != nil {
		t.Fatal("seeking:", err)
	}
	for _, s := range []string{"before", " and behind"} {
		if n, err := p.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("writing %q: %d bytes, %v", s, n, err)
		}
	}
	if err := p.Finish(); err != nil {
		t.Fatal("finishing:", err)
	}
	if _, err := p.Publish("large", false, allowAll); err != nil {
		t.Fatal("publishing:", err)
	}
	f, err := os.Open(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal("opening the file:", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, from, 100))
	if string(b) != "before and behind" || err != nil {
		t.Errorf("at the end is %q, %v", b, err)
	}
}
