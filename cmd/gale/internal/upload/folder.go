package upload

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/static"
)

var (
	// ErrExists says that the folder has something of that name.
	ErrExists = errors.New("there is already something of that name")
	// ErrNotFile says that something that isn't a regular file has that name: a folder, a
	// symbolic link or a device. It isn't replaced.
	ErrNotFile = errors.New("something that isn't a regular file has that name")
	// ErrLink says that a symbolic link leads to the folder.
	ErrLink = errors.New("the folder is reached through a symbolic link")
)

// Folder is an open folder. It stays the same folder if its name is given to another one.
// Its methods may be used by several goroutines.
type Folder struct {
	root *os.Root
	path string // to ask for free space where that needs a path
}

// Open opens the folder below dir that the segments name, one after the other. dir itself
// may be a link; for a link below it the error is ErrLink, and for anything else that
// isn't a folder it is fs.ErrNotExist. The caller has checked the segments with
// Rules.CheckFolder, and closes the folder.
func Open(dir string, segments []string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		next, err := openIn(root, s)
		root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	return &Folder{root, filepath.Join(append([]string{dir}, segments...)...)}, nil
}

// openIn opens a folder directly in root. OpenRoot follows links, so openIn checks that
// it opened the folder that Lstat saw.
func openIn(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	case info.Mode().Type() != fs.ModeDir:
		return nil, fs.ErrNotExist
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = ErrLink
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// Close closes the folder. Parts that are still open can't be published or removed after
// that.
func (d *Folder) Close() error { return d.root.Close() }

// Lookup returns what is called name in the folder, without following links, or nil if
// there is nothing.
func (d *Folder) Lookup(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// Tag returns the entity tag with which the command sends the file name, or nil if it has
// none.
func (d *Folder) Tag(name string) []byte { return static.FreshETag(d.root, name) }

// abandonedAfter is the age from which an unfinished file is one that a killed process
// has left behind. Those that are being written are changed more often.
const abandonedAfter = 24 * time.Hour

// Sweep removes unfinished files that no one has written to for a day, except those that
// busy reports.
func (d *Folder) Sweep(now time.Time, busy func(name string) bool) error {
	list, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer list.Close()
	for {
		names, err := list.Readdirnames(1000)
		for _, name := range names {
			if !isTemporary(name) || busy(name) {
				continue
			}
			info, err := d.root.Lstat(name)
			if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > abandonedAfter {
				_ = d.root.Remove(name)
			}
		}
		if err == io.EOF || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isTemporary reports whether name has exactly the form of those that Create makes. What
// else begins with Prefix isn't ours to remove.
func isTemporary(name string) bool {
	random, ok := strings.CutPrefix(name, Prefix)
	return ok && len(random) == len(rand.Text()) && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
