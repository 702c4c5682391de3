package static

import (
	"io"
	"io/fs"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/pool"
)

// Entry is a file, or a variant of one, ready to be sent. It never changes and is
// shared by requests: its slices must not be written to. A caller that gets one
// from a Store holds a reference, and must call Release when it no longer needs
// File.
//
// Unless Size is 0 or Absent is set, exactly one of Data, File and Reopen holds the
// content.
type Entry struct {
	// Absent says that the file has no variant in the requested coding, NeverCoded
	// that it has none in any coding.
	Absent, NeverCoded bool

	Data   []byte // all of it, in memory
	File   *File  // open, read at offsets
	Reopen string // the name to open for each request, see Store.Reopen

	Size         int64
	ContentType  string
	LastModified []byte // as in the field (RFC 9110 section 8.8.2); empty if not known
	Valid        Validators
	Coding       compress.Coding
	// Varies says that other requests for this path may get another coding: Vary must
	// name Accept-Encoding (RFC 9110 section 12.5.5).
	Varies bool
	// Listing marks a generated page.
	Listing bool

	// Time and size of the file that the entry was made from, to check later
	// whether it has changed.
	originTime time.Time
	originSize int64
	// ours says that the store made this variant, or found that it isn't worth having.
	ours  bool
	basis basis // for Settings.Fresh

	recovered func(where string) // Settings.Recovered, if File is set
}

// entryOverhead is roughly how many bytes an entry and its place in the cache need.
const entryOverhead = 512

// Cost implements Cacheable.
func (e *Entry) Cost() (bytes int64, files int) {
	if e.File != nil {
		return entryOverhead, 1
	}
	return entryOverhead + int64(len(e.Data)), 0
}

// Retain implements Cacheable.
func (e *Entry) Retain() bool { return e.File == nil || e.File.Acquire() }

// Release implements Cacheable.
func (e *Entry) Release() {
	if e.File != nil {
		defer e.recovered("closing a file of an FS") // a timer may call this
		e.File.Release()
	}
}

// smallFile is the size in bytes up to which a file's content is kept in memory.
// The limits of the cache are chosen for files of that size.
const smallFile = 8 << 10

// newEntry makes an entry of an open regular file. It takes over f, which is closed
// on an error, or with the entry's last reference.
func (s *Store) newEntry(f fs.File, info fs.FileInfo, name string) (*Entry, error) {
	kept := false
	defer func() {
		if !kept { // also if a method of a user's file panics
			f.Close()
		}
	}()
	e := &Entry{
		Size:        info.Size(),
		ContentType: TypeByName(name),
		originTime:  info.ModTime(),
		originSize:  info.Size(),
	}
	ra, shareable := isReaderAt(f)
	var err error
	switch {
	case e.Size <= smallFile:
		e.Data, err = readSmall(f, e.Size)
		e.Size = int64(len(e.Data))
		if e.ContentType == "" {
			e.ContentType = SniffType(e.Data)
		}
	case shareable:
		if e.ContentType == "" {
			e.ContentType, err = sniffAt(ra)
		}
		if kept = err == nil; kept {
			e.File, e.recovered = NewFile(ra), s.Recovered
		}
	default:
		if e.ContentType == "" {
			e.ContentType, err = sniff(f)
		}
		e.Reopen = name
	}
	if err != nil {
		return nil, err
	}
	s.finish(e, info.ModTime())
	return e, nil
}

// finish sets the fields that are derived from an entry's content, type and time.
func (s *Store) finish(e *Entry, modTime time.Time) {
	e.Data = e.Data[:len(e.Data):len(e.Data)]
	e.Varies = s.Codings != 0 && !e.Listing && Compressible(e.ContentType)
	if modTime.IsZero() || s.fresh { // stamp sets the others
		return
	}
	e.Valid.ModTime = modTime
	e.LastModified = clock.AppendDateAt(nil, modTime)
	if e.Listing || !s.ETags && !s.StrongETags {
		return
	}
	coding := tagSuffix(e.Coding)
	if s.StrongETags {
		e.Valid.ETag = AppendETag(nil, modTime, e.originSize, coding, !Settled(modTime, time.Now()))
	} else {
		e.Valid.ETag = AppendWeakETag(nil, modTime, e.originSize, coding)
	}
}

// readSmall reads a file that had size bytes when it was opened.
func readSmall(f io.Reader, size int64) ([]byte, error) {
	b := make([]byte, size)
	n, empty := 0, 0
	for n < len(b) {
		m, err := pool.ReadOnce(f, b[n:], &empty)
		n += m
		if err == io.EOF || n == len(b) {
			break
		}
		if err != nil {
			return b[:n], err
		}
	}
	return b[:n], nil
}

func sniffAt(r io.ReaderAt) (string, error) {
	return sniff(io.NewSectionReader(r, 0, SniffLen))
}

func sniff(r io.Reader) (string, error) {
	b, err := readSmall(r, SniffLen)
	return SniffType(b), err
}
