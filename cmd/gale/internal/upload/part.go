package upload

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/galehttp/gale/internal/static"
)

// Part is an unfinished file. The order of calls is Write, Finish, Publish; Discard comes
// last, whatever happened before. One goroutine may use it at a time, except that Remove
// may be called by others.
type Part struct {
	dir   *Folder
	f     *os.File // nil once it is finished or discarded
	name  string
	mode  fs.FileMode // what the file will have; 0 if the file system doesn't let it change
	size  int64
	space *Space
	gone  bool // the temporary name was removed
}

// Create makes an unfinished file. Only its owner may read it until it is finished; then
// it gets the mode that a new file has in this folder. Writing to it needs room in space.
func (d *Folder) Create(space *Space) (*Part, error) {
	p := &Part{dir: d, name: Prefix + rand.Text(), space: space}
	var err error
	// The system applies the umask, or the default access list of the folder, to this
	// mode. It can't be asked for these otherwise.
	if p.f, err = d.root.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|static.LargeFile, 0o666); err != nil {
		return nil, noSpace(err)
	}
	info, err := p.f.Stat()
	if err != nil {
		p.Discard()
		return nil, err
	}
	// FAT and others have no such modes.
	if runtime.GOOS != "windows" && p.f.Chmod(0o600) == nil {
		p.mode = info.Mode().Perm()
	}
	return p, nil
}

// Name returns the temporary name.
func (p *Part) Name() string { return p.name }

// Size returns the bytes written.
func (p *Part) Size() int64 { return p.size }

// Write appends b. If the file system has no room for it, the error is ErrNoSpace.
func (p *Part) Write(b []byte) (int, error) {
	done, err := p.space.Take(p.f, p.dir.path, int64(len(b)))
	if err != nil {
		return 0, err
	}
	defer done()
	n, err := p.f.Write(b)
	p.size += int64(n)
	return n, noSpace(err)
}

// Finish ends the writing. All bytes are on the disk when it returns, so that the file is
// whole under its own name even if the machine loses power after Publish.
func (p *Part) Finish() error {
	f := p.f
	p.f = nil
	err := f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // this file system writes when it wants to
	}
	if p.mode != 0 {
		err = errors.Join(err, f.Chmod(p.mode))
	}
	return noSpace(errors.Join(err, f.Close()))
}

// publishing is held from the decision of allow until the file has its name, so that of several
// uploads with the same condition one succeeds. There is one for all names, because file systems
// differ in which names mean the same file.
var publishing sync.Mutex

// Publish gives a finished file its name. Without overwrite, it returns ErrExists if the
// folder has something of that name. With overwrite it replaces a regular file; for
// anything else it returns ErrNotFile. allow decides, right before that, whether the
// file that exists, or nil, may be replaced; its error is returned. No other Publish of this process
// comes between the two.
func (p *Part) Publish(name string, overwrite bool, allow func(existing fs.FileInfo) error) (replaced bool, err error) {
	publishing.Lock()
	defer publishing.Unlock()
	existing, err := p.dir.Lookup(name)
	if err != nil {
		return false, err
	}
	if err := allow(existing); err != nil {
		return false, err
	}
	if existing == nil || !overwrite {
		err := p.publishNew(name)
		if err == nil {
			p.gone = true
		}
		return false, noSpace(err)
	}
	if !existing.Mode().IsRegular() {
		return false, ErrNotFile
	}
	// If a link has taken the name since Lookup, it is replaced, not followed. A folder
	// makes Rename fail.
	if err := p.dir.root.Rename(p.name, name); err != nil {
		return false, noSpace(err)
	}
	p.gone = true
	return true, nil
}

// publishNew gives the file a name that nothing has. If the file system can't do that in
// one step, the name is taken with an empty file first, which Rename then replaces. The
// empty file can be seen for that moment, and what another program puts in its place then
// would be lost.
func (p *Part) publishNew(name string) error {
	root := p.dir.root
	for _, publish := range []func(root *os.Root, from, to string) error{renameNew, linkNew} {
		switch err := publish(root, p.name, name); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			return ErrExists
		}
	}
	return claimNew(root, p.name, name)
}

func linkNew(root *os.Root, from, to string) error {
	if err := root.Link(from, to); err != nil {
		return err
	}
	_ = root.Remove(from) // the file is published in any case
	return nil
}

func claimNew(root *os.Root, from, to string) error {
	f, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	f.Close()
	if err := root.Rename(from, to); err != nil {
		_ = root.Remove(to)
		return err
	}
	return nil
}

// Discard closes and removes the file, unless it was published.
func (p *Part) Discard() {
	if p.f != nil {
		p.f.Close()
		p.f = nil
	}
	if !p.gone {
		p.gone = true
		p.Remove()
	}
}

// Remove removes the temporary name, if it still exists. Any goroutine may call it.
func (p *Part) Remove() { _ = p.dir.root.Remove(p.name) }
