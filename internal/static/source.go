package static

import (
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A fileSource opens a handler's files. Names are those of package fs: relative,
// with slashes, "." for the root.
type fileSource interface {
	// open opens a file or directory, which the caller closes. It never waits for the
	// other end of a named pipe.
	open(name string) (fs.File, fs.FileInfo, error)
	stat(name string) (fs.FileInfo, error)
	// id returns what is at path, which watchPath made of a name; see watch.
	id(path string) fileID
	watchPath(name string) string
	// closeIdle closes files that are held open between requests.
	closeIdle()
}

// A copyStore writes and reads compressed copies.
type copyStore interface {
	open(name string) (fs.File, fs.FileInfo, error)
	// write makes a file with the given content and the time stamp of like. Other
	// goroutines see either no file or the complete one.
	write(name string, data []byte, like fs.FileInfo) error
	remove(name string) error
	closeIdle()
}

// errNotRegular says that a name means something that can't be sent: a pipe, a
// socket, a device.
var errNotRegular = errors.New("not a regular file")

// newOSSource returns the source for a directory. An empty dir means absolute paths. With
// fresh a directory that is replaced is noticed at once.
func newOSSource(dir string, followOut, fresh bool) interface {
	fileSource
	copyStore
} {
	if dir == "" || followOut || isVolume(dir) {
		return openDir{dir}
	}
	return &rootDir{dir: dir, fresh: fresh}
}

// isVolume reports whether dir is a whole volume, so that nothing is outside of it.
func isVolume(dir string) bool {
	return strings.TrimLeft(dir[len(filepath.VolumeName(dir)):], `/\`) == "" && filepath.IsAbs(dir)
}

// openDir is a directory out of which links may lead.
type openDir struct{ dir string }

func (d openDir) path(name string) string {
	name = filepath.FromSlash(name)
	if d.dir == "" && filepath.VolumeName(name) == "" {
		return string(filepath.Separator) + name
	}
	if d.dir == "" {
		return name
	}
	return filepath.Join(d.dir, name)
}

func (d openDir) open(name string) (fs.File, fs.FileInfo, error) {
	return OpenRegular(d.path(name))
}

// OpenRegular opens the file or directory at path, a path of the system. It opens nothing
// else, such as a named pipe or a device, and doesn't wait for one. The caller closes the
// file.
func OpenRegular(path string) (fs.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	return statOpened(f, err)
}

func (d openDir) stat(name string) (fs.FileInfo, error) { return os.Stat(d.path(name)) }

func (d openDir) watchPath(name string) string { return d.path(name) + "\x00" }

func (d openDir) id(path string) fileID { return statID(path) }

func (d openDir) closeIdle() {}

func (d openDir) write(name string, data []byte, like fs.FileInfo) error {
	return writeCopy(plainWriter, d.path(name), data, like)
}

func (d openDir) remove(name string) error { return os.Remove(d.path(name)) }

// statOpened checks an opened file. Because the check comes after the opening, the
// file can't be replaced in between. The info's methods, other than Name, are the system's
// or ours, not a user's.
func statOpened(f fs.File, err error) (fs.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	fits := false
	defer func() {
		if !fits && f != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if _, ok := f.(*os.File); !ok {
		info = knownInfo{info, info.Size(), info.Mode(), info.ModTime(), info.IsDir(), info.Sys()}
	}
	if fits = info.Mode().IsRegular() || info.IsDir(); !fits {
		return nil, nil, errNotRegular
	}
	return f, info, nil
}

// knownInfo is what the info of a user's file said once: its methods may do anything, so they
// are called only where the file is closed whatever they do.
type knownInfo struct {
	fs.FileInfo
	size    int64
	mode    fs.FileMode
	modTime time.Time
	isDir   bool
	sys     any
}

func (i knownInfo) Size() int64        { return i.size }
func (i knownInfo) Mode() fs.FileMode  { return i.mode }
func (i knownInfo) ModTime() time.Time { return i.modTime }
func (i knownInfo) IsDir() bool        { return i.isDir }
func (i knownInfo) Sys() any           { return i.sys }

// rootDir is a directory out of which no path leads. It keeps the directory open
// and checks from time to time, or if it is fresh before each use, whether its name means
// another directory now.
type rootDir struct {
	dir   string
	fresh bool

	mu      sync.Mutex
	root    *heldRoot
	checked time.Time
}

// heldRoot is an open root directory. It is closed when its last user drops it; the
// rootDir is one of the users. users is guarded by the rootDir's lock.
type heldRoot struct {
	*os.Root
	info  fs.FileInfo
	users int
}

// rootCheckInterval is the longest time until a replaced root directory is noticed.
const rootCheckInterval = time.Second

// acquire returns the open directory. The caller must drop it after use.
func (d *rootDir) acquire() (*heldRoot, error) {
	var info fs.FileInfo
	if d.fresh {
		var err error
		if info, err = os.Stat(d.dir); err != nil { // without the lock: others needn't wait for it
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.root == nil || !d.fresh && now.Sub(d.checked) >= rootCheckInterval || d.fresh && !os.SameFile(info, d.root.info) {
		if err := d.renew(); err != nil {
			return nil, err
		}
		d.checked = now
	}
	d.root.users++
	return d.root, nil
}

// renew opens the directory that the name means now, if it isn't open. The caller
// holds the lock.
func (d *rootDir) renew() error {
	info, err := os.Stat(d.dir)
	if err != nil {
		return err
	}
	if d.root != nil && os.SameFile(info, d.root.info) {
		return nil
	}
	if !info.IsDir() { // OpenRoot's error says so in its text only
		return &fs.PathError{Op: "open", Path: d.dir, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	// The name may mean another directory since Stat. Later checks must compare
	// with the one that was opened.
	if info, err = root.Stat("."); err != nil {
		root.Close()
		return err
	}
	d.drop(d.root)
	d.root = &heldRoot{Root: root, info: info, users: 1}
	return nil
}

// drop ends one use of r, which may be nil. The caller holds the lock.
func (d *rootDir) drop(r *heldRoot) {
	if r == nil {
		return
	}
	if r.users--; r.users == 0 {
		r.Close()
	}
}

// closeIdle closes the directory until it is needed again.
func (d *rootDir) closeIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(d.root)
	d.root = nil
}

// with calls f with the open root, without the lock. It is valid until f returns.
func (d *rootDir) with(f func(*os.Root) error) error {
	root, err := d.acquire()
	if err != nil {
		return err
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.drop(root)
	}()
	return f(root.Root)
}

func (d *rootDir) open(name string) (f fs.File, info fs.FileInfo, err error) {
	if name == "." && isFile(d.dir) {
		return OpenRegular(d.dir)
	}
	err = d.with(func(r *os.Root) error {
		var osf *os.File
		osf, err := r.OpenFile(name, os.O_RDONLY|openFlags, 0)
		f, info, err = statOpened(osf, err)
		return err
	})
	return f, info, err
}

// isFile reports whether path is a file. A root may be a file, to serve only that
// file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (d *rootDir) stat(name string) (info fs.FileInfo, err error) {
	err = d.with(func(r *os.Root) (err error) {
		info, err = r.Stat(name)
		return err
	})
	return info, err
}

// watchPath returns an absolute path: one system call then sees also that the root was
// replaced. A path below an open root needs another one for that.
func (d *rootDir) watchPath(name string) string {
	return filepath.Join(d.dir, filepath.FromSlash(name)) + "\x00"
}

func (d *rootDir) id(path string) fileID { return statID(path) }

func (d *rootDir) write(name string, data []byte, like fs.FileInfo) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	return d.with(func(r *os.Root) error { return openCopies{r}.write(name, data, like) })
}

func (d *rootDir) remove(name string) error {
	return d.with(func(r *os.Root) error { return openCopies{r}.remove(name) })
}

// openCopies are the copies in a directory that is open.
type openCopies struct{ root *os.Root }

func (c openCopies) open(name string) (fs.File, fs.FileInfo, error) {
	return OpenRegularIn(c.root, name)
}

func (c openCopies) write(name string, data []byte, like fs.FileInfo) error {
	r := c.root
	return writeCopy(rootWriter(r), filepath.FromSlash(name), data, like)
}

func (c openCopies) remove(name string) error { return c.root.Remove(filepath.FromSlash(name)) }

func (c openCopies) closeIdle() {}

// systemDir returns the directory of an os.DirFS. An os.DirFS follows links
// wherever they lead; a rootDir of the same directory doesn't.
func systemDir(fsys fs.FS) (dir string, ok bool) {
	v := reflect.ValueOf(fsys)
	if v.Type() != reflect.TypeOf(os.DirFS(".")) || v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), v.Len() > 0
}

// treeSource is an fs.FS, or the directory dir in it.
type treeSource struct {
	fsys  fs.FS
	dir   string
	links fs.ReadLinkFS // to check where links lead; nil if that isn't possible or doesn't matter
}

func newTreeSource(fsys fs.FS, dir string, followOut bool) treeSource {
	s := treeSource{fsys: fsys, dir: dir}
	if !followOut {
		s.links, _ = fsys.(fs.ReadLinkFS)
	}
	return s
}

// maxLinks is how many symbolic links the path of a file in a tree may contain.
const maxLinks = 40

// path returns the path of name in the tree with all links resolved, if links can
// be read. A link that leads out of dir, or might do so, is like a missing file.
func (s treeSource) path(name string) (string, error) {
	if s.links == nil {
		return path.Join(s.dir, name), nil
	}
	done := "." // the part that has no links
	followed := 0
	for todo := name; todo != ""; {
		var segment string
		segment, todo, _ = strings.Cut(todo, "/")
		switch segment {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", fs.ErrNotExist
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, segment)
		info, err := s.links.Lstat(path.Join(s.dir, next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		to, err := s.links.ReadLink(path.Join(s.dir, next))
		if err != nil {
			return "", err
		}
		followed++
		slashed := filepath.ToSlash(to)
		if followed > maxLinks || slashed == "" || slashed[0] == '/' || filepath.VolumeName(to) != "" {
			return "", fs.ErrNotExist
		}
		todo = slashed + "/" + todo
	}
	return path.Join(s.dir, done), nil
}

func (s treeSource) open(name string) (fs.File, fs.FileInfo, error) {
	name, err := s.path(name)
	if err != nil {
		return nil, nil, err
	}
	// If the tree has Stat, use it first: Open might wait for the writer of a pipe.
	if st, ok := s.fsys.(fs.StatFS); ok {
		info, err := st.Stat(name)
		if err != nil {
			return nil, nil, err
		}
		if !info.Mode().IsRegular() && !info.IsDir() {
			return nil, nil, errNotRegular
		}
	}
	f, err := s.fsys.Open(name)
	return statOpened(f, err)
}

func (s treeSource) stat(name string) (fs.FileInfo, error) {
	name, err := s.path(name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(s.fsys, name)
}

func (s treeSource) watchPath(name string) string { return name }

func (s treeSource) id(path string) fileID {
	info, err := s.stat(path)
	if err != nil {
		return fileID{}
	}
	return idOf(info)
}

func (s treeSource) closeIdle() {}

// immutable reports whether the files of a source can't change while the program
// runs.
func immutable(src fileSource) bool {
	t, ok := src.(treeSource)
	if !ok {
		return false
	}
	_, ok = t.fsys.(embed.FS)
	return ok
}

// A sharedFile can be read by several goroutines at a time.
type sharedFile interface {
	fs.File
	io.ReaderAt
}

// isReaderAt reports whether f is a sharedFile. An *os.File is one if it is a regular
// file, which was checked before.
func isReaderAt(f fs.File) (sharedFile, bool) {
	shared, ok := f.(sharedFile)
	return shared, ok
}
