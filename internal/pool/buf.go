package pool

import (
	"errors"
	"io"
)

// minRead is the least room that ReadFrom offers to a reader.
const minRead = 512

// MaxEmptyReads is how often in a row a reader may return nothing.
const MaxEmptyReads = 100

var errBadRead = errors.New("pool: reader returned an invalid count")

// Buf is a growing byte buffer. Its bytes are B; callers read, cut and append
// to B directly where the methods don't fit. The zero value is an empty
// buffer without memory.
//
// A Buf isn't safe for concurrent use, and must not be copied: pools keep
// pointers to it. Memory that a Buf grows out of goes back to its pool at
// once, so a slice of B is valid only until the next call that may grow it.
type Buf struct {
	// B holds the contents. Replacing it by another slice is allowed; that
	// slice belongs to the Buf from then on.
	B []byte
}

// Len returns the number of bytes held.
func (b *Buf) Len() int { return len(b.B) }

// Reset empties b and keeps its memory.
func (b *Buf) Reset() { b.B = b.B[:0] }

// Grow makes room for n more bytes without changing the contents: afterwards
// n bytes can be appended to b.B in place. Capacity at least doubles up to
// [MaxSize] and grows by half beyond it, so that appending is linear overall.
// It panics if n is negative.
func (b *Buf) Grow(n int) {
	if n < 0 {
		panic("pool: negative count")
	}
	if cap(b.B)-len(b.B) < n {
		b.grow(n)
	}
}

// grow moves the contents to larger memory; the old memory travels back to
// its class in the header that the new memory came with.
func (b *Buf) grow(n int) {
	want := len(b.B) + n
	if want < 0 {
		panic("pool: buffer too large")
	}
	if c := cap(b.B); c < MaxSize {
		want = max(want, min(2*c, MaxSize))
	} else {
		want = max(want, c+c/2)
	}
	next := Get(want)
	next.B = append(next.B, b.B...)
	b.B, next.B = next.B, b.B
	Put(next)
}

// Write appends p. The error is always nil.
func (b *Buf) Write(p []byte) (int, error) {
	b.Grow(len(p))
	b.B = append(b.B, p...)
	return len(p), nil
}

// WriteString appends s. The error is always nil.
func (b *Buf) WriteString(s string) (int, error) {
	b.Grow(len(s))
	b.B = append(b.B, s...)
	return len(s), nil
}

// WriteByte appends c. The error is always nil.
func (b *Buf) WriteByte(c byte) error {
	b.Grow(1)
	b.B = append(b.B, c)
	return nil
}

// ReadFrom appends what r returns until it ends, and grows with what arrived.
// It returns the number of bytes appended and the first error but io.EOF;
// the bytes read before an error stay in b. A reader that keeps returning
// nothing ends it with io.ErrNoProgress.
func (b *Buf) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	empty := 0
	for {
		b.Grow(minRead)
		room := b.B[len(b.B):cap(b.B)]
		n, err := r.Read(room)
		if n < 0 || n > len(room) {
			return total, errBadRead
		}
		b.B = b.B[:len(b.B)+n]
		total += int64(n)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == MaxEmptyReads {
				return total, io.ErrNoProgress
			}
		}
	}
}
