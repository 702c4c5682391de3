package upload

import (
	"errors"
	"math"
	"math/bits"
	"os"
	"sync/atomic"
)

// ErrNoSpace says that the file system is full, or would have less space left than must
// stay free.
var ErrNoSpace = errors.New("not enough space is left on the disk")

// Space keeps a part of the file system free. All parts of a process share one, so that
// those that write at the same time don't count the same space.
type Space struct {
	// Keep is how many bytes stay free. 0 means that only a full disk ends uploads.
	Keep int64
	// Free replaces the system's answer for the file system of f, for tests.
	Free func(f *os.File) (bytes int64, ok bool)

	pending atomic.Int64 // bytes that are being written
}

// noSpace returns err, or ErrNoSpace if the disk is full.
func noSpace(err error) error {
	if err != nil && isFull(err) {
		return ErrNoSpace
	}
	return err
}

// room returns ErrNoSpace if n bytes more, in the file f of the folder at path, would
// leave too little space.
func (s *Space) room(f *os.File, path string, n int64) error {
	if s.Keep == 0 {
		return nil
	}
	free, ok := int64(0), false
	if s.Free != nil {
		free, ok = s.Free(f)
	} else {
		free, ok = freeSpace(f, path)
	}
	if ok && free-s.Keep < n {
		return ErrNoSpace
	}
	return nil
}

// Take waits for nothing: it returns ErrNoSpace if there is no room for n bytes on the file
// system of f, which is in the folder at path. done must be called after they were written.
func (s *Space) Take(f *os.File, path string, n int64) (done func(), err error) {
	pending := s.pending.Add(n)
	if err := s.room(f, path, pending); err != nil {
		s.pending.Add(-n)
		return nil, err
	}
	return func() { s.pending.Add(-n) }, nil
}

// Expect returns ErrNoSpace if there is no room for n bytes at this moment.
func (p *Part) Expect(n int64) error { return p.space.room(p.f, p.dir.path, n) }

// blocksFree returns the bytes in n free blocks. Of the files that the file system can
// hold, a hundredth must stay free too, where their number is fixed: empty files need no
// other space.
func blocksFree(n, size, filesFree, files uint64) int64 {
	if files > 0 && filesFree < files/100 {
		return 0
	}
	hi, lo := bits.Mul64(n, size)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
