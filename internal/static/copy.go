package static

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// osWriter has the functions that are needed to write a copy, below a root or
// without one.
type osWriter struct {
	mkdirAll func(string, fs.FileMode) error
	openFile func(string, int, fs.FileMode) (*os.File, error)
	sync     func(*os.File) error // puts what was written on the disk
	chtimes  func(name string, atime, mtime time.Time) error
	rename   func(from, to string) error
	remove   func(string) error
}

// plainWriter writes anywhere.
var plainWriter = osWriter{
	mkdirAll: os.MkdirAll, openFile: os.OpenFile, sync: (*os.File).Sync, chtimes: os.Chtimes, rename: os.Rename, remove: os.Remove,
}

// rootWriter writes below r.
func rootWriter(r *os.Root) osWriter {
	return osWriter{
		mkdirAll: r.MkdirAll, openFile: r.OpenFile, sync: (*os.File).Sync, chtimes: r.Chtimes, rename: r.Rename, remove: r.Remove,
	}
}

// writeCopy writes data to a temporary file next to name, sets the time stamp and
// the permissions of like, without those to execute, and renames it. The temporary
// name is short and hidden, because name may already be as long as the system
// allows.
func writeCopy(w osWriter, name string, data []byte, like fs.FileInfo) error {
	tmp := filepath.Join(filepath.Dir(name), ".gale-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	perm := like.Mode().Perm()&^0o111 | 0o200
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := w.openFile(tmp, flags, perm)
	if os.IsNotExist(err) {
		if err = w.mkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err = w.openFile(tmp, flags, perm)
	}
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = w.sync(f) // a loss of power must not leave the name without the content
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = w.chtimes(tmp, like.ModTime(), like.ModTime())
	}
	if err == nil {
		err = w.rename(tmp, name)
	}
	if err != nil {
		w.remove(tmp)
	}
	return err
}

// isCopyOf reports whether a copy with the time stamp c was made of a file with the
// time stamp f. Some file systems truncate it to whole seconds.
func isCopyOf(c, f time.Time) bool {
	return c.Equal(f) || c.Nanosecond() == 0 && c.Equal(f.Truncate(time.Second))
}
