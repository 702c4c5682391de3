package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A folder for compressed copies has a lock file, which its process holds, and the copies
// in a folder of their own. A killed process leaves the folder, but not the lock: the
// next start removes it.
const (
	copiesPrefix = "gale-serve-"
	copiesLock   = "lock"
	copiesFolder = "copies"
)

// Bounds of the search for folders that were left.
const (
	maxTempNames = 20_000
	maxStale     = 100
)

// maxCopies is how many bytes the copies may have on the disk.
const maxCopies = 256 << 20

// unlockedFor is how old a folder without a lock file must be before it is removed: it
// may belong to a process that has just begun.
const unlockedFor = time.Hour

// copiesDir is the folder for compressed copies. They must not be written into the
// served folder.
//
// The folder stays open, and copies are only used through root: if something removes the folder,
// for example a cleaner of temporary files, another one of the same name isn't used.
type copiesDir struct {
	root *os.Root // nil for none
	top  string
	lock *os.File
}

// makeCopiesDir makes the folder. Only this user can read it.
func (cfg *serveConfig) makeCopiesDir() (*copiesDir, error) {
	if !cfg.compress {
		return &copiesDir{}, nil
	}
	c, err := newCopiesDir()
	if err != nil {
		return nil, usagef("can't make a folder for compressed files: %v; set TMPDIR to a writable folder, or use -compress=false", err)
	}
	return c, nil
}

func newCopiesDir() (*copiesDir, error) {
	top, err := os.MkdirTemp("", copiesPrefix)
	if err != nil {
		return nil, err
	}
	c := &copiesDir{top: top}
	c.lock, err = createLocked(filepath.Join(top, copiesLock))
	path := filepath.Join(top, copiesFolder)
	if err == nil {
		err = os.Mkdir(path, 0o700)
	}
	if err == nil {
		c.root, err = os.OpenRoot(path)
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// copyRoom returns what is called before a copy is written to root: with -upload it keeps as much of
// the disk free as uploads do. It is nil without -upload.
func (cfg *serveConfig) copyRoom(root *os.Root) func(n int64) (done func(), err error) {
	if cfg.upload.state == nil {
		return nil
	}
	space := cfg.upload.state.space
	return func(n int64) (done func(), err error) {
		f, err := root.Open(".")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return space.Take(f, root.Name(), n)
	}
}

// remove removes the folder with all copies.
func (c *copiesDir) remove() {
	if c.top == "" {
		return
	}
	if c.root != nil {
		_ = c.root.Close()
	}
	if c.lock != nil && lockedFilesStay {
		_ = c.lock.Close()
	}
	_ = os.RemoveAll(c.top)
	if c.lock != nil {
		_ = c.lock.Close()
	}
}

// removeStale removes the folders in tmp that killed processes of this user have left.
// It looks at a bounded number of names, and follows no links.
func removeStale(tmp string) {
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return
	}
	defer root.Close()
	removed := 0
	for _, name := range copiesNames(root) {
		if removed < maxStale && isStale(root, name) && root.RemoveAll(name) == nil {
			removed++
		}
	}
}

// copiesNames returns the names of folders for copies among the first names of root.
func copiesNames(root *os.Root) []string {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	var names []string
	for seen := 0; seen < maxTempNames; {
		batch, err := dir.ReadDir(1000)
		for _, d := range batch {
			if d.IsDir() && strings.HasPrefix(d.Name(), copiesPrefix) {
				names = append(names, d.Name())
			}
		}
		if seen += len(batch); err != nil || len(batch) == 0 {
			break
		}
	}
	return names
}

// isStale reports whether the folder name was left by a process of this user. Its lock
// file is removed then, so that no other process finds it stale, too.
func isStale(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || !isOurs(info) {
		return false
	}
	path := filepath.Join(name, copiesLock)
	lock, err := lockOld(root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return time.Since(info.ModTime()) > unlockedFor
	case err != nil || lock == nil:
		return false
	}
	if lockedFilesStay {
		_ = lock.Close()
		return true
	}
	defer lock.Close()
	return root.RemoveAll(path) == nil
}
