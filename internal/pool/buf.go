package pool

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/lifetime"
)

// minRead is the smallest buffer in bytes that ReadFrom passes to a reader.
const minRead = 512

// MaxEmptyReads is how many times in a row a reader may return no bytes and no
// error.
const MaxEmptyReads = 100

// ErrBadRead says that a reader returned a count of bytes that it can't have read.
var ErrBadRead = errors.New("reader returned an invalid count")

// ReadOnce calls r.Read and checks its count. empty counts the calls in a row that returned
// nothing; the error of the last of MaxEmptyReads is io.ErrNoProgress.
func ReadOnce(r io.Reader, p []byte, empty *int) (int, error) {
	n, err := r.Read(p)
	switch {
	case n < 0 || n > len(p):
		return 0, ErrBadRead
	case n > 0:
		*empty = 0
	case err == nil:
		if *empty++; *empty >= MaxEmptyReads {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// Buf is a growing byte buffer. Its bytes are B; callers may read, cut and append
// to B directly. The zero value is an empty buffer without memory.
//
// A Buf isn't safe for concurrent use, and must not be copied: pools keep pointers
// to it. When a Buf grows, its old memory goes back to its pool at once, so a slice
// of B is valid only until the next call that may grow it.
type Buf struct {
	// B holds the contents. It may be replaced by another slice, which then belongs
	// to the Buf.
	B []byte
	// Loan is what B is memory of while the buffer is lent, else nil. It then grows in
	// memory of the loan, and no memory goes to a pool.
	Loan *lifetime.Loan
}

// Len returns the number of bytes held.
func (b *Buf) Len() int { return len(b.B) }

// Reset empties b and keeps its memory.
func (b *Buf) Reset() { b.B = b.B[:0] }

// Grow makes room for n more bytes: afterwards n bytes can be appended to b.B
// without an allocation. The contents stay. The capacity at least doubles up to
// maxDouble, and grows by half beyond it, so that appending takes linear time
// overall. It panics if n is negative.
func (b *Buf) Grow(n int) {
	if n < 0 {
		panic("pool: negative count")
	}
	if cap(b.B)-len(b.B) < n {
		b.grow(n)
	}
}

// maxDouble is the capacity up to which a buffer doubles.
const maxDouble = 64 << 20

func (b *Buf) grow(n int) {
	want := len(b.B) + n
	if want < 0 {
		panic("pool: buffer too large")
	}
	if c := cap(b.B); c < maxDouble {
		want = max(want, min(2*c, maxDouble))
	} else {
		want = max(want, c+c/2)
	}
	b.move(want)
}

// GrowTo is Grow for a caller who knows what comes: it makes the capacity at least n, and
// not more than [Get] does.
func (b *Buf) GrowTo(n int) {
	if cap(b.B) < n {
		b.move(n)
	}
}

// Lent returns an empty buffer of memory of l, with room for at least n bytes.
func Lent(l *lifetime.Loan, n int) *Buf {
	return &Buf{B: lifetime.Make(l, max(n, MinSize)), Loan: l}
}

// move moves the contents to larger memory, with room for n bytes. The old memory goes
// back to the pool, in the Buf that the new memory came in.
func (b *Buf) move(n int) {
	if b.Loan != nil {
		b.B = append(lifetime.Make(b.Loan, n), b.B...)
		return
	}
	next := Get(n)
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

// ReadFrom reads from r until io.EOF and appends the bytes. b grows with the bytes
// that have arrived. It returns the number of bytes appended and the first error
// other than io.EOF; bytes read before an error stay in b. If r returns nothing
// MaxEmptyReads times in a row, the error is io.ErrNoProgress.
func (b *Buf) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	empty := 0
	for {
		b.Grow(minRead)
		room := b.B[len(b.B):cap(b.B)]
		n, err := ReadOnce(r, room, &empty)
		b.B = b.B[:len(b.B)+n]
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
