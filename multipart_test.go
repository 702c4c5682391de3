package gale

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

// modeReader is a file's content. It notes the permissions of all files in dir when it is read.
type modeReader struct {
	dir   string
	modes map[string]os.FileMode
}

func (r *modeReader) Read([]byte) (int, error) {
	all, _ := os.ReadDir(r.dir)
	for _, e := range all {
		if fi, err := e.Info(); err == nil {
			r.modes[e.Name()] = fi.Mode().Perm()
		}
	}
	return 0, os.ErrClosed
}

// What replaces a file can't be read by others before it has that file's permissions.
func TestReplaceFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other permissions")
	}
	r := &modeReader{t.TempDir(), map[string]os.FileMode{}}
	path := filepath.Join(r.dir, "secret")
	peers.Write(t, path, "old")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal("setting permissions:", err)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal("looking at the file:", err)
	}
	if err := replaceFile(path, r, fi); err == nil {
		t.Error("a copy that fails replaces the file")
	}
	if len(r.modes) != 2 {
		t.Errorf("beside the copy: %v", r.modes)
	}
	for name, mode := range r.modes {
		if mode != 0o600 {
			t.Errorf("%s has the permissions %v during the copy", name, mode)
		}
	}
}
