package static

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

// Reasons why a path can't be served, besides errors from opening it.
var (
	ErrZeroByte = errors.New("path holds a zero byte")
	ErrDotDot   = errors.New("path holds a '..' segment")
	ErrIsDir    = errors.New("directory asked for without a slash")
	ErrNoIndex  = errors.New("directory without index page")
	ErrIsFile   = errors.New("file asked for with a slash") // there is nothing below a file
	ErrBusy     = errors.New("too many listings are made")
)

// Settings are those of a Store. They don't change.
type Settings struct {
	// FS is the file system of the files, and Root a directory in it. If FS is nil,
	// the files are in the directory Root of the operating system.
	FS   fs.FS
	Root string
	// AllowEmptyRoot makes an empty Root mean all absolute paths of the system.
	AllowEmptyRoot bool
	// CompressRoot is the directory for compressed copies. If it is empty, that is
	// Root.
	CompressRoot string
	// CopyRoot, if it isn't nil, is where copies are instead. Whatever becomes of its name, copies
	// are only in this directory: there are none after it was removed. It isn't closed.
	CopyRoot *os.Root
	// CopyLimit bounds the copies, if CompressRoot or CopyRoot is set.
	CopyLimit CopyLimit
	// FollowOut follows symbolic links that lead out of these directories.
	FollowOut bool

	Rules      Rules
	IndexNames []string // index files of a directory
	Listings   bool     // directories without one of these are listed

	ETags, StrongETags bool

	// Precompressed also looks for variants that other programs have made.
	Precompressed bool
	// Compress holds the codings to compress with, Codings all codings that may be
	// sent, and Suffixes the suffixes of compressed copies' names.
	Compress, Codings CodingSet
	Suffixes          [compress.Codings]string

	// MaxAge is how long an entry is cached; 0 means not at all. MaxOpenFiles is
	// how many files are kept open. After Stop was closed, nothing is cached.
	MaxAge       time.Duration
	MaxOpenFiles int
	Stop         <-chan struct{}
	// Fresh makes every request see the files as they are. Entries that are cached are
	// compared with their files before they are used.
	Fresh bool

	// Recovered is deferred around methods of the user's files that a timer may
	// call. It recovers a panic and logs it.
	Recovered func(where string)
}

// Store opens files and their compressed variants, and keeps them for a while. It may be
// used by any number of goroutines.
type Store struct {
	Settings
	fresh     bool // Settings.Fresh, unless the files can't change
	src       fileSource
	root      string    // the root's path, if it is in the operating system
	rootName  string    // the last segment of it
	copies    copyStore // nil if copies can't be written
	oldCopies copyStore // where copies were before CompressRoot was set, or nil
	flights   flightGroup

	timedCache
}

// NewStore returns a store with these settings.
func NewStore(settings Settings) *Store {
	s := &Store{Settings: settings}
	s.setSource()
	s.fresh = s.Fresh && !immutable(s.src)
	if s.MaxAge > 0 {
		s.timedCache.init(&s.Settings, s.closeIdle)
	}
	return s
}

func (s *Store) setSource() {
	if s.FS != nil {
		dir := string(AppendName(nil, []byte(filepath.ToSlash(s.Settings.Root))))
		if of, ok := systemDir(s.FS); ok {
			of = filepath.Join(absDir(of, false), filepath.FromSlash(dir))
			s.src, s.rootName = newOSSource(of, s.FollowOut, s.Fresh), filepath.Base(of)
			return
		}
		s.src = newTreeSource(s.FS, dir, s.FollowOut)
		return
	}
	s.root = absDir(s.Settings.Root, s.AllowEmptyRoot)
	s.rootName = filepath.Base(s.root)
	src := newOSSource(s.root, s.FollowOut, s.Fresh)
	s.src, s.copies = src, src
	switch {
	case s.CopyRoot != nil:
		s.copies = openCopies{s.CopyRoot}
	case s.CompressRoot != "":
		s.copies = newOSSource(absDir(s.CompressRoot, false), s.FollowOut, s.Fresh)
	default:
		return
	}
	s.oldCopies = src
	if s.CopyLimit.Bytes > 0 {
		s.copies = newLimitedCopies(s.copies, s.CopyLimit)
	}
}

// absDir makes dir absolute, so that it stays the same when the program changes
// its working directory. It stays empty if that is allowed.
func absDir(dir string, allowEmpty bool) string {
	if dir == "" && allowEmpty {
		return ""
	}
	if abs, err := filepath.Abs(filepath.FromSlash(dir)); err == nil {
		return abs
	}
	return dir
}

// CheckRoot returns the root's path, and an error if it can't be served. The error
// is nil for a root that isn't a directory of the operating system.
func (s *Store) CheckRoot() (path string, err error) {
	if s.root != "" {
		_, err = os.Stat(s.root)
	}
	return s.root, err
}

// closeIdle closes the directories that are held open between requests.
func (s *Store) closeIdle() {
	s.src.closeIdle()
	if s.copies != nil {
		s.copies.closeIdle()
	}
}

// Reopen opens the file of an entry with Reopen for one request. The file belongs
// to the caller, which closes it.
func (s *Store) Reopen(e *Entry) (fs.File, fs.FileInfo, error) { return s.src.open(e.Reopen) }

// Open returns the entry for path in the given coding, with a reference for the
// caller. It reads path, which is decoded, and doesn't keep it. The errors are
// those above, or errors of the files; see also IsTooManyFiles.
//
// If there is no variant in that coding, the entry has Absent set. With Identity it
// never has.
//
// seen is what the same request has looked at before, for other codings of path.
func (s *Store) Open(path []byte, coding compress.Coding, seen *Seen) (*Entry, error) {
	key, shown := path, path
	if s.Listings && EndsInSlash(path) && len(seen.Shown) > 0 && !bytes.Equal(seen.Shown, path) {
		var room [256]byte // no name has a zero byte
		shown = seen.Shown
		key = append(append(append(room[:0], path...), 0), shown...)
	}
	if s.cache == nil {
		return s.load(path, shown, coding, nil)
	}
	now := s.now()
	e, young, ok := s.cache.Get(key, coding, now)
	if young && (!s.fresh || s.holds(e, now, seen)) {
		return e, nil
	}
	if !ok {
		e = nil
	}
	return s.reload(path, shown, key, coding, e)
}

// reload loads an entry: the replacement of old, or one that isn't cached yet under that
// key. It takes over the caller's reference to old, which may be nil.
func (s *Store) reload(path, shown, key []byte, coding compress.Coding, old *Entry) (*Entry, error) {
	if old != nil {
		defer old.Release()
	}
	e, err := s.load(path, shown, coding, old)
	if IsTooManyFiles(err) {
		s.cache.CloseFiles()
		e, err = s.load(path, shown, coding, old)
	}
	if err != nil {
		if old != nil {
			s.cache.Remove(key, coding)
		}
		return nil, err
	}
	if s.fresh && !e.basis.settled {
		s.cache.Remove(key, coding)
		return e, nil
	}
	s.put(key, coding, e)
	return e, nil
}

// load opens the file at path, or the index page of the directory there, and makes
// an entry of it. shown is the path that a listing shows. old is the entry that was served
// for it before, or nil.
func (s *Store) load(p, shown []byte, coding compress.Coding, old *Entry) (*Entry, error) {
	name := string(AppendName(nil, p))
	if err := s.allows(p, name); err != nil {
		return nil, err
	}
	var l loading
	if s.fresh {
		l.at = time.Now()
	}
	f, info, err := s.src.open(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		f.Close()
		if !EndsInSlash(p) {
			return nil, ErrIsDir
		}
		if f, info, name, err = s.openIndex(name, &l); err != nil {
			return nil, err
		}
		if f == nil && coding != compress.Identity {
			return &Entry{Absent: true, NeverCoded: true}, nil
		}
		if f == nil {
			return s.list(name, info, string(shown))
		}
	} else if name != "." && (EndsInSlash(p) || bytes.HasSuffix(p, []byte("/."))) {
		f.Close()
		return nil, ErrIsFile
	}
	s.opened(&l, name, info)
	if name == "." { // the root is a file
		name = s.rootName
	}
	e, err := s.makeEntry(f, info, name, coding, old, &l)
	if err == nil && s.fresh {
		s.stamp(e, &l)
	}
	return e, err
}

// allows returns an error if the rules forbid p, which has that name.
func (s *Store) allows(p []byte, name string) error {
	switch s.Rules.Check(p) {
	case PathOK:
		return nil
	case PathShort:
		if areReal(name, s.openDir) {
			return nil
		}
	case PathNUL:
		return ErrZeroByte
	case PathDotDot:
		return ErrDotDot
	}
	return fs.ErrNotExist
}

func (s *Store) openDir(dir string) (fs.File, error) {
	f, _, err := s.src.open(dir)
	return f, err
}

// makeEntry makes an entry of an open file, which it takes over.
func (s *Store) makeEntry(f fs.File, info fs.FileInfo, name string, coding compress.Coding, old *Entry, l *loading) (*Entry, error) {
	if coding == compress.Identity {
		return s.newEntry(f, info, name)
	}
	defer f.Close()
	return s.loadCoded(f, info, name, coding, old, l)
}

// openIndex opens the first of the index pages that a directory has. f is nil
// if it must be listed.
func (s *Store) openIndex(dir string, l *loading) (f fs.File, info fs.FileInfo, name string, err error) {
	for _, index := range s.IndexNames {
		name = path.Join(dir, index)
		n := len(l.files)
		s.look(l, name)
		f, info, err = s.src.open(name)
		if err == nil && !info.IsDir() {
			l.files = l.files[:n] // opened adds what was opened
			return f, info, name, nil
		}
		if err == nil {
			f.Close()
		} else if IsTooManyFiles(err) {
			return nil, nil, "", err
		}
	}
	if !s.Listings {
		return nil, nil, "", ErrNoIndex
	}
	info, err = s.src.stat(dir)
	return nil, info, dir, err
}
