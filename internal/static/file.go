package static

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// ErrReleased is returned by a File to which no reference is held any more.
var ErrReleased = errors.New("static: file is closed")

// File is an open file shared by its senders: the cache, and one body
// per response. Everyone reads at offsets of their own; the position of the
// descriptor is never used. The file is closed when the last one lets go.
type File struct {
	r    io.ReaderAt
	c    io.Closer
	os   *os.File
	refs atomic.Int32
}

// NewFile wraps an open file, which it owns from now on; the caller holds one
// reference. f must be readable at offsets by many at a time.
func NewFile(f interface {
	io.ReaderAt
	io.Closer
}) *File {
	sf := &File{r: f, c: f}
	sf.os, _ = f.(*os.File)
	sf.refs.Store(1)
	return sf
}

// OS returns the file of the operating system behind f, or nil if there is
// none. It is valid as long as the caller holds a reference.
func (f *File) OS() *os.File { return f.os }

// ReadAt reads like io.ReaderAt. The caller holds a reference.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.r.ReadAt(p, off) }

// Acquire takes one more reference and tells if it could: a file that was
// closed stays closed.
func (f *File) Acquire() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back. It closes the file if it was the last.
func (f *File) Release() error {
	switch n := f.refs.Add(-1); {
	case n > 0:
		return nil
	case n < 0:
		f.refs.Add(1)
		return ErrReleased
	}
	return f.c.Close()
}
