package gale

import (
	"io"
	"io/fs"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// fsEntry is a file, or a variant of one, ready to be sent. It is never changed
// once it is made, and shared by requests.
//
// Exactly one of data, file and reopen says where the content is, unless there
// is none.
type fsEntry struct {
	// absent says that the file has no variant in the coding asked for, and
	// neverCoded that it has none in any.
	absent, neverCoded bool

	data   []byte       // all of it, in memory
	file   *static.File // open, read at offsets
	reopen string       // the name to open for each request

	size         int64
	contentType  string
	lastModified []byte // as in the field; empty if not known
	valid        static.Validators
	coding       compress.Coding
	// varies says that other requests for this path may get another coding.
	varies bool
	// listing marks a generated page.
	listing bool

	// The file that this was made of, to tell if it still is what it was.
	originTime time.Time
	originSize int64
}

// entryOverhead is roughly what an entry and its place in the cache take.
const entryOverhead = 512

// Cost implements static.Entry.
func (e *fsEntry) Cost() (bytes int64, files int) {
	if e.file != nil {
		return entryOverhead, 1
	}
	return entryOverhead + int64(len(e.data)), 0
}

// Retain implements static.Entry.
func (e *fsEntry) Retain() bool { return e.file == nil || e.file.Acquire() }

// Release implements static.Entry.
func (e *fsEntry) Release() {
	if e.file != nil {
		e.file.Release()
	}
}

// smallFile is up to which size the content of a file is kept in memory. With
// what belongs to it, the cache is dimensioned for that.
const (
	smallFile       = 8 << 10
	maxCacheEntries = 4096
	maxCacheBytes   = 32 << 20
	maxOpenFiles    = 256
)

// newEntry makes an entry of an open regular file, whose ownership it takes.
func (h *fsHandler) newEntry(f fs.File, info fs.FileInfo, name string) (*fsEntry, error) {
	e := &fsEntry{
		size:        info.Size(),
		contentType: static.TypeByName(name),
		originTime:  info.ModTime(),
		originSize:  info.Size(),
	}
	ra, shareable := isReaderAt(f)
	var err error
	switch {
	case e.size <= smallFile:
		e.data, err = readSmall(f, e.size)
		f.Close()
		e.size = int64(len(e.data))
		if e.contentType == "" {
			e.contentType = static.SniffType(e.data)
		}
	case shareable:
		if e.contentType == "" {
			e.contentType, err = sniffAt(ra)
		}
		if err != nil {
			f.Close()
			break
		}
		e.file = static.NewFile(ra)
	default:
		if e.contentType == "" {
			e.contentType, err = sniff(f)
		}
		f.Close()
		e.reopen = name
	}
	if err != nil {
		return nil, err
	}
	h.finish(e, info.ModTime())
	return e, nil
}

// finish sets what follows from an entry's content, type and time.
func (h *fsHandler) finish(e *fsEntry, modTime time.Time) {
	e.data = e.data[:len(e.data):len(e.data)]
	e.varies = h.codings != 0 && !e.listing && static.Compressible(e.contentType)
	if modTime.IsZero() {
		return
	}
	e.valid.ModTime = modTime
	e.lastModified = clock.AppendDateAt(nil, modTime)
	if e.listing || !h.etags && !h.strongETags {
		return
	}
	coding := ""
	if e.coding != compress.Identity {
		coding = e.coding.String()
	}
	if h.strongETags {
		e.valid.ETag = static.AppendETag(nil, modTime, e.originSize, coding, !static.Settled(modTime, time.Now()))
	} else {
		e.valid.ETag = static.AppendWeakETag(nil, modTime, e.originSize, coding)
	}
}

// readSmall reads a file that was size bytes long a moment ago.
func readSmall(f io.Reader, size int64) ([]byte, error) {
	b := make([]byte, size)
	n, err := io.ReadFull(f, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return b[:n], err
}

func sniffAt(r io.ReaderAt) (string, error) {
	return sniff(io.NewSectionReader(r, 0, static.SniffLen))
}

func sniff(r io.Reader) (string, error) {
	b, err := readSmall(r, static.SniffLen)
	return static.SniffType(b), err
}
