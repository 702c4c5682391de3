package static

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/galehttp/gale/internal/pool"
)

// ErrReleased is returned by a File that has no references any more.
var ErrReleased = errors.New("static: file is closed")

// File is an open file that is shared by reference counting. The cache and the body
// of each response hold one reference. All read at their own offsets; the position
// of the descriptor is never used. The file is closed when the last reference is
// released.
type File struct {
	r    io.ReaderAt
	c    io.Closer
	os   *os.File
	refs atomic.Int32
}

// NewFile wraps an open file, which it then owns. The caller holds one reference. f
// must allow concurrent ReadAt.
func NewFile(f interface {
	io.ReaderAt
	io.Closer
}) *File {
	sf := &File{r: f, c: f}
	sf.os, _ = f.(*os.File)
	sf.refs.Store(1)
	return sf
}

// OS returns the operating system's file that f uses, or nil if there is
// none. It is valid as long as the caller holds a reference.
func (f *File) OS() *os.File { return f.os }

// ReadAt reads like io.ReaderAt. The caller holds a reference. A count that the file can't have
// read is an error.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.r.ReadAt(p, off)
	if n < 0 || n > len(p) {
		return 0, pool.ErrBadRead
	}
	return n, err
}

// Acquire takes one more reference. It returns false if the file was closed
// already.
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
