package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A copy is on the disk, whole, before it gets its name: a loss of power leaves the old copy or the new
// one. If that fails, it doesn't get the name. The functions are the system's; the test only looks on.
func TestCopyIsOnDiskBeforeItsName(t *testing.T) {
	const old, content = "old", "the new content"
	for name, inRoot := range map[string]bool{"plain": false, "root": true} {
		for _, failure := range []error{nil, errors.New("the disk is gone")} {
			dir := t.TempDir()
			path := filepath.Join(dir, "copy")
			w, at := plainWriter, path
			if inRoot {
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal("opening the folder:", err)
				}
				defer root.Close()
				w, at = rootWriter(root), "copy"
			}
			if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
				t.Fatal("writing the old copy:", err)
			}
			like, err := os.Stat(path)
			if err != nil {
				t.Fatal("looking at the old copy:", err)
			}
			var steps []string
			sync, rename := w.sync, w.rename
			w.sync = func(f *os.File) error {
				info, err := f.Stat()
				if err != nil || info.Size() != int64(len(content)) {
					t.Errorf("%s: put on the disk are %v, %v, want %d bytes", name, info, err, len(content))
				}
				if err := sync(f); err != nil {
					return err
				}
				steps = append(steps, "sync")
				return failure
			}
			w.rename = func(from, to string) error {
				steps = append(steps, "rename")
				return rename(from, to)
			}
			err = writeCopy(w, at, []byte(content), like)
			want, has := []string{"sync", "rename"}, content
			if failure != nil {
				want, has = want[:1], old
			}
			if !errors.Is(err, failure) || !slices.Equal(steps, want) {
				t.Errorf("%s, %v: the steps are %q, want %q; %v", name, failure, steps, want, err)
			}
			if b, err := os.ReadFile(path); string(b) != has || err != nil {
				t.Errorf("%s, %v: the copy is %q, %v", name, failure, b, err)
			}
			if list, err := fs.Glob(os.DirFS(dir), "*"); len(list) != 1 || err != nil {
				t.Errorf("%s, %v: the folder has %q, %v", name, failure, list, err)
			}
			// What puts it on the disk asks the system.
			f, err := os.Open(path)
			if err != nil {
				t.Fatal("opening the copy:", err)
			}
			f.Close()
			if err := sync(f); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: for a closed file it returns %v", name, err)
			}
		}
	}
}
