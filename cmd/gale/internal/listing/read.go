package listing

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/galehttp/gale/cmd/gale/internal/upload"
	"github.com/galehttp/gale/internal/static"
)

// maxNames is how many names of a folder are read. The listing of a larger folder says that
// it isn't complete.
const maxNames = 1_000_000

// entry is a file or a folder.
type entry struct {
	name  string
	size  int64
	time  int64 // of the last change, seconds since 1970
	dir   bool
	known bool // size and time are set
	gone  bool // it was removed, or replaced by something else, while it was listed
}

// folder is what was found in a folder.
type folder struct {
	root    *os.Root // the folder itself
	entries []entry
	all     int  // number of entries before any were left out by a filter
	cut     bool // there are more than maxNames

	// Counts of the entries that match the filter; set by choose.
	matches, dirs, files int
	size                 int64
	sized                bool // size is known
}

// close ends the reading of sizes.
func (f *folder) close() { _ = f.root.Close() }

// read reads the names in the folder. name is its path in the served folder, as package fs
// has it. The caller must close the result.
//
// The served folder is opened for each call, because it may be removed and made again.
func (p *Pages) read(name string) (*folder, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	f := &folder{root: sub}
	if err := p.readNames(f, root, name); err != nil {
		f.close()
		return nil, err
	}
	f.all = len(f.entries)
	return f, nil
}

// readNames sets the entries of f, without their sizes.
func (p *Pages) readNames(f *folder, root *os.Root, name string) error {
	dir, err := openDir(f.root, filepath.Join(p.Dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		batch, err := dir.ReadDir(1000)
		for _, d := range batch {
			if len(f.entries) == maxNames {
				f.cut = true
				return nil
			}
			if e, ok := p.newEntry(root, name, d); ok {
				f.entries = append(f.entries, e)
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(batch) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// newEntry returns the entry for d in the folder dir. ok is false if d must be hidden or
// can't be served: dot files, uploads that aren't complete, devices, and links that are
// broken or lead out of root.
func (p *Pages) newEntry(root *os.Root, dir string, d fs.DirEntry) (e entry, ok bool) {
	e.name = d.Name()
	if !p.DotFiles && static.IsDotFile([]byte(e.name)) || upload.Unfinished(e.name) {
		return e, false
	}
	switch mode := d.Type(); {
	case mode.IsRegular():
		return e, true
	case mode.IsDir():
		e.dir = true
		return e, true
	case mode&fs.ModeSymlink == 0:
		return e, false
	}
	info, err := root.Stat(path.Join(dir, e.name))
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return e, false
	}
	e.dir = info.IsDir()
	e.setInfo(info)
	return e, true
}

func (e *entry) setInfo(info fs.FileInfo) {
	e.size, e.time, e.known = info.Size(), info.ModTime().Unix(), true
}

// statAll reads size and time of the entries that have none yet, and removes those that are
// gone.
func (f *folder) statAll() {
	lost := false
	for i := range f.entries {
		e := &f.entries[i]
		if e.known {
			continue
		}
		info, err := f.root.Lstat(e.name)
		if err != nil || info.IsDir() != e.dir || !e.dir && !info.Mode().IsRegular() {
			e.gone, lost = true, true
			continue
		}
		e.setInfo(info)
	}
	if lost {
		f.entries = slices.DeleteFunc(f.entries, func(e entry) bool { return e.gone })
	}
}

// count counts the entries. Their total size is known only if all of them were looked at.
func (f *folder) count() {
	f.sized = true
	for i := range f.entries {
		e := &f.entries[i]
		f.sized = f.sized && e.known
		if e.dir {
			f.dirs++
			continue
		}
		f.files++
		f.size += e.size
	}
}
