//go:build unix

package message

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/galehttp/gale"
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
