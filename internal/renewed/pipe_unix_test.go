//go:build unix

package renewed

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe is read when a caller reads the files, and never by a look, which would block.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatalf("making a pipe: %v", err)
	}
	got := ""
	f := New(func(contents [][]byte) error { got = string(contents[0]); return nil }, path)
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("text"), 0o600) }()
	now := time.Now()
	if err := f.Read(now); err != nil || got != "text" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := <-written; err != nil {
		t.Errorf("writing: %v", err)
	}
	if news := f.Look(now.Add(time.Hour), time.Minute); news != (News{}) {
		t.Errorf("a look after a pipe was read: %+v", news)
	}

	// A regular file that becomes a pipe can't be used.
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatalf("renaming: %v", err)
	}
	if err := os.WriteFile(path, []byte("file"), 0o600); err != nil {
		t.Fatalf("writing: %v", err)
	}
	if err := f.Read(now); err != nil || got != "file" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatalf("renaming: %v", err)
	}
	if news := f.Look(now.Add(time.Hour), time.Minute); news.Failed == nil {
		t.Error("a pipe in the place of a file wasn't reported")
	}
}
