//go:build unix

package message

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// SaveMultipartFile writes to a pipe, and doesn't put a file in its place.
func TestSaveMultipartFileToPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither side waits for the other
	if err != nil {
		t.Fatal("opening the pipe:", err)
	}
	defer pipe.Close()
	if err := gale.SaveMultipartFile(storedFile(t, "file!"), path); err != nil {
		t.Fatal("saving to the pipe:", err)
	}
	if fi, err := os.Lstat(path); err != nil || fi.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is a file now: %v, %v", fi, err)
	}
	b := make([]byte, 10)
	if n, err := pipe.Read(b); string(b[:n]) != "file!" {
		t.Errorf("the pipe has %q, %v", b[:n], err)
	}
}

// No one can read a copy before it has the permissions of the file that it replaces, and a file
// that may not be written to is not replaced.
func TestSaveMultipartFileModes(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("root may write to all files: that part is left out")
	}
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o600, 0o444} {
		path := filepath.Join(dir, "file")
		peers.Write(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal("setting permissions:", err)
		}
		err := gale.SaveMultipartFile(storedFile(t, "new"), path)
		if want := mode == 0o444 && os.Geteuid() != 0; (err != nil) != want {
			t.Errorf("%v: %v", mode, err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%v: the permissions are %v, %v", mode, fi.Mode(), err)
		}
		_ = os.Remove(path)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "made"), link); err != nil {
		t.Fatal("making a link:", err)
	}
	if err := gale.SaveMultipartFile(storedFile(t, "new"), link); err != nil {
		t.Error("a link that leads to no file:", err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made")); string(b) != "new" {
		t.Errorf("the file that a link leads to has %q, %v", b, err)
	}
}
